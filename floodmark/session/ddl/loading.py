"""First run of users' Python code: when a function is created, not during planning."""

from __future__ import annotations

from floodmark.plan.declare.functions import functions_of
from floodmark.plan.declare.python_functions import load_and_check
from floodmark.session.ddl.altering import check_fill_value
from floodmark.session.ddl.deployment import DeploymentPlan
from floodmark.warehouse.deployed import Deployed


def check_code(plan: DeploymentPlan, deployed: Deployed) -> None:
    """Load the Python functions that a plan creates, and compute the new DEFAULTs that call one.

    To be called before the plan is logged. Raises E0280, E0281, E0290, E0297 and E0839.
    """
    known = {f.definition for f in functions_of(deployed.catalog.objects.values()).values()}
    for function in functions_of(plan.catalog.objects.values()).values():
        if function.language == "python" and function.definition not in known:
            load_and_check(function)
    changed = {c.key for c in plan.changes if c.action != "suspend"}
    for obj in plan.pipeline.writing_objects:
        if obj.key in changed:
            check_fill_value(deployed.pipeline.objects.get(obj.key), obj, calling=True)
