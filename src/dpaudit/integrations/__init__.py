"""Mechanisms of other libraries, with the claim and the neighbours that they bring themselves.

One file per library. Nothing here imports a library to recognise its objects.
"""

from dpaudit.integrations.building import answers, any_float, any_integer, needed
from dpaudit.integrations.diffprivlib import from_diffprivlib
from dpaudit.integrations.dp_accounting import from_dp_accounting
from dpaudit.integrations.jax_privacy import (
    check_jax_privacy_plan,
    from_jax_privacy,
    jax_privacy_claim,
    jax_privacy_indices,
    jax_privacy_run,
)
from dpaudit.integrations.loading import (
    as_subject,
    attribute_of,
    brought_by,
    load_mechanism,
    load_object,
    load_place,
    load_target,
    made_by,
    needs_an_object,
)
from dpaudit.integrations.multi_freq_ldpy import from_multi_freq_ldpy
from dpaudit.integrations.naming import Called, parse_target
from dpaudit.integrations.opacus import (
    from_opacus,
    opacus_claim,
    opacus_item,
    opacus_seeded,
    opacus_undone,
)
from dpaudit.integrations.opendp import from_opendp
from dpaudit.integrations.pipeline_dp import from_pipeline_dp
from dpaudit.integrations.pure_ldp import from_pure_ldp
from dpaudit.integrations.python_dp import from_python_dp
from dpaudit.integrations.tumult import from_tumult
from dpaudit.mechanism import Subject
