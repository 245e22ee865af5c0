"""Where on the API is what a cluster autoscaler is asked, and by which marks it is known."""

from services.runtime.cluster_port import Resource

REQUESTS = Resource(group="autoscaling.x-k8s.io", plural="provisioningrequests", kind="ProvisioningRequest")
TEMPLATES = Resource(plural="podtemplates", kind="PodTemplate")
PARAMETERS = "provreq.kueue.x-k8s.io/"
"""How annotations of a job begin that are handed on as parameters."""
