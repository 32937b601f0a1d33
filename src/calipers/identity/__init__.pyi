from calipers.identity.callables import evaluator_identity as evaluator_identity
from calipers.identity.callables import task_identity as task_identity
from calipers.identity.case_content import case_identity as case_identity
from calipers.identity.fingerprint import Identity as Identity
from calipers.identity.fingerprint import Unknown as Unknown
from calipers.identity.fingerprint import differences as differences
