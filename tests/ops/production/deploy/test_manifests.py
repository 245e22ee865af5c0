"""Everything that is applied to a cluster: one source, sound objects, no more rights than needed."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from events.json_object import JsonObject
from ops.files.manifests import read_manifests
from ops.production.crds.definitions import manifests as definitions
from ops.production.deploy.__main__ import FOLDER, folders
from ops.production.deploy.chart import (
    CHOICES,
    NAMESPACE,
    PARTS,
    SCHEMA,
    ChoiceRefused,
    chart_files,
    manifest_files,
    manifests,
)
from ops.production.deploy.permissions import ON_CLUSTER
from ops.production.kubernetes.client import path_of
from ops.production.metrics.names import KUELOG
from ops.production.process.span_exporter import exports
from ops.production.served import SERVICES, VERIFIER
from ops.sandbox.embedded_cluster.kinds import BUILT_IN, kinds_of
from services.runtime.cluster_port import ObjectConflict, Resource
from tests.peers.build import PEERS
from tests.places import ROOT
from tests.stage.caches import resource_at
from tests.stage.cluster import Cluster

BUILT = PEERS / "helm" / "helm"
HELM = os.environ.get("KUELOG_HELM") or shutil.which("helm") or (str(BUILT) if BUILT.exists() else None)
FORMS = re.compile(r"\{\{ (toJson |int64 )?\$\.(Values|Release)\.([\w.]+)( \| quote)? \}\}")
PORT = re.compile(r"\{\{ splitList \":\" \$\.Values\.([\w.]+) \| last \| int64 \}\}")
REVISION = "-{{ $.Release.Revision }}"
FILE = '{{ toJson (merge (dict "namespace" $.Release.Namespace) $.Values.configuration) | quote }}'
SUM = FILE.replace("quote", "sha256sum")
REPEATED = re.compile(r"(?:#.*\n)?\{\{- range \$number := untilStep 1 \(int \.Values\.([\w.]+)\) 1 \}\}\n")
UNLESS = re.compile(r" *\{\{- if not \$\.Values\.([\w.]+) \}\}\n(.*\n) *\{\{- end \}\}\n")


def every(**choices: Any) -> list[JsonObject]:
    return [one for part in manifests({**CHOICES, **choices}).values() for one in part]


CONSOLE: JsonObject = {**CHOICES["console"], "enabled": True}
MULTIKUEUE: JsonObject = {**CHOICES["multiKueue"], "enabled": True}
CHOSEN: JsonObject = {"console": CONSOLE, "multiKueue": MULTIKUEUE, "verifier": True}
"""All that is not installed unless somebody chooses it."""
DIVIDED: JsonObject = {"partitions": 3, "autoscaling": {**CHOICES["autoscaling"], "enabled": True}}


def of(kind: str, values: list[JsonObject] | None = None) -> list[JsonObject]:
    """All objects of a kind, those of what has to be chosen too."""
    return [one for one in values or every(**CHOSEN) if one["kind"] == kind]


def key(value: JsonObject) -> tuple[str, str, str]:
    return value["kind"], value["metadata"].get("namespace", ""), value["metadata"]["name"]


def test_the_files_are_those_that_the_source_makes() -> None:
    for folder, files in folders().items():
        there = {str(path.relative_to(FOLDER / folder)) for path in (FOLDER / folder).rglob("*.*")}
        assert there == set(files)
        for name, text in files.items():
            assert (FOLDER / folder / name).read_text() == text, (
                f"{folder}/{name} is old: python -m ops.production.deploy"
            )


def test_every_file_holds_whole_objects_each_of_them_once() -> None:
    found = [one for text in manifest_files().values() for one in yaml.safe_load_all(text)]
    assert all(one["apiVersion"] and one["kind"] and one["metadata"]["name"] for one in found)
    assert len({key(one) for one in found}) == len(found)
    assert found == every()


def at(path: str, choices: JsonObject) -> Any:
    found: Any = choices
    for name in path.split("."):
        found = found[name]
    return found


def filled(text: str, choices: JsonObject = CHOICES) -> list[JsonObject]:
    """A template with values in it. It knows the few forms that our templates use, and nothing else of Helm."""

    def value(one: re.Match[str]) -> str:
        as_json, room, path, quoted = one.groups()
        found = NAMESPACE if room == "Release" else at(path, choices)
        told = json.dumps(found, separators=(",", ":"), sort_keys=True) if as_json == "toJson " else str(found)
        return json.dumps(told) if quoted else told

    condition = re.match(r"(?:#.*\n)?\{\{- if [^}]* \}\}\n", text)
    if condition is not None:
        text = text[condition.end() :].removesuffix("{{- end }}\n")
    repeated = REPEATED.match(text)
    if repeated is not None:
        body = text[repeated.end() :].removesuffix("{{- end }}\n")
        numbers = range(1, at(repeated.group(1), choices))
        text = "".join(body.replace("{{ $number }}", str(number)) for number in numbers)
    text = UNLESS.sub(lambda one: "" if at(one.group(1), choices) else one.group(2), text)
    file = json.dumps({**choices["configuration"], "namespace": NAMESPACE}, separators=(",", ":"), sort_keys=True)
    text = text.replace(SUM, hashlib.sha256(file.encode()).hexdigest())
    text = PORT.sub(lambda one: at(one.group(1), choices).rpartition(":")[2], text)
    text = FORMS.sub(value, text.replace(FILE, json.dumps(file)).replace(REVISION, ""))
    assert "{{" not in text
    return list(yaml.safe_load_all(text))


def test_the_templates_of_the_chart_say_what_the_plain_manifests_say() -> None:
    files, plain = chart_files(), manifests()
    for part in PARTS:
        if part.name in plain:
            assert filled(files[f"templates/{part.name}.yaml"]) == plain[part.name]
    with_manager = manifests({**CHOICES, "certManager": True})
    assert filled(files["templates/webhook-cert-manager.yaml"]) == with_manager["webhook-cert-manager"]
    assert "webhook" not in with_manager
    watched = manifests({**CHOICES, "podMonitor": True})["pod-monitor"]
    assert filled(files["templates/pod-monitor.yaml"]) == watched
    assert watched[0]["spec"]["podMetricsEndpoints"][0]["honorLabels"] is True
    again = manifests({**CHOICES, "verifier": True})["verifier"]
    assert filled(files["templates/verifier.yaml"]) == again
    assert [one["spec"]["replicas"] for one in again if one["kind"] == "Deployment"] == [1]
    assert "console" not in plain
    seen = manifests({**CHOICES, "console": {**CONSOLE, "access": "proxy", "userPrefix": "oidc:"}})["console"]
    assert [one["kind"] for one in seen] == [one["kind"] for one in filled(files["templates/console.yaml"])]
    args = next(one for one in seen if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--access") + 1] == "proxy" and args[args.index("--user-prefix") + 1] == "oidc:"
    assert "prometheus-rule" not in plain
    alerts = manifests({**CHOICES, "prometheusRule": True})["prometheus-rule"]
    assert filled(files["templates/prometheus-rule.yaml"]) == alerts
    assert "{{" not in str(alerts), "Helm would take it for its own"


@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_each_further_partition_has_services_of_its_own_with_an_account_and_a_user_of_the_bus(partitions: int) -> None:
    choices = {**CHOICES, "partitions": partitions}
    found = manifests(choices)
    template = chart_files()["templates/partitions.yaml"]
    assert ("partitions" in found) is (partitions > 1)
    if partitions > 1:
        assert filled(template, choices) == found["partitions"]
    of_trees = ("queue-manager", "admitter", "preemptor", "applier")
    whole = [one for part in found.values() for one in part]
    serving: dict[str, list[str]] = {}
    for one in of("Deployment", whole):
        [container] = one["spec"]["template"]["spec"]["containers"]
        args = container["args"]
        if "--partition" in args:
            serving.setdefault(args[args.index("--partition") + 1], []).append(args[1])
            user = container["env"][0]["valueFrom"]["secretKeyRef"]["key"]
            assert container["env"][1]["value"].startswith(f"nats://{user}:")
            assert one["metadata"]["name"] == f"kuelog-{user}", "each partition of each service has a user of its own"
            assert one["spec"]["template"]["spec"]["serviceAccountName"] == f"kuelog-{user}"
            assert one["spec"]["replicas"] == 2
        else:
            assert args[1] not in of_trees
    assert serving == {f"LOG_{number}": list(of_trees) for number in range(partitions)}
    bound = {
        subject["name"]: one["roleRef"]["name"]
        for one in of("ClusterRoleBinding", whole)
        for subject in one["subjects"]
        if "applier" in subject["name"]
    }
    names = ["kuelog-applier", *(f"kuelog-applier-{number}" for number in range(1, partitions))]
    assert bound == dict.fromkeys(names, f"{NAMESPACE}-applier")
    budgets = {one["metadata"]["name"] for one in of("PodDisruptionBudget", whole)}
    assert {one["metadata"]["name"] for one in of("Deployment", whole)} <= budgets
    [job] = of("Job", whole)
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("--partitions") + 1] == str(partitions)


def test_pods_of_one_partition_belong_to_no_deployment_of_another_one() -> None:
    found = of("Deployment", every(partitions=3))
    for one in found:
        wanted = one["spec"]["selector"]["matchLabels"].items()
        chosen = [other for other in found if wanted <= other["spec"]["template"]["metadata"]["labels"].items()]
        assert chosen == [one]


def test_a_server_of_the_bus_starts_anew_when_the_rights_of_its_users_change() -> None:
    marks = {
        one["spec"]["template"]["metadata"]["annotations"]["checksum/configuration"]
        for partitions in (1, 2, 2)
        for one in of("StatefulSet", every(partitions=partitions))
    }
    assert len(marks) == 2


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ({"partitions": 0}, "a log has 1 to 256 partitions"),
        ({"partitions": 257}, "a log has 1 to 256 partitions"),
        ({"partitions": "four"}, "a log has 1 to 256 partitions"),
        ({"replicas": -1}, "replicas: -1: write how many"),
        ({"replicas": "two"}, "replicas: two: write how many"),
        ({"bus": {**CHOICES["bus"], "maxBytes": "8Gi"}}, "bus.maxBytes: 8Gi: write a whole number"),
        ({"bus": {**CHOICES["bus"], "maxBytes": 1.5}}, "bus.maxBytes: 1.5: write a whole number"),
        ({"bus": {**CHOICES["bus"], "address": "nats.example.org"}}, "bus.address: nats.example.org: write HOST:PORT"),
        (
            {"bus": {**CHOICES["bus"], "storage": "much"}},
            "bus.storage: much: write how large a volume is, such as 20Gi",
        ),
        ({"image": {**CHOICES["image"], "tag": 0.1}}, "image.tag: 0.1: write a text, in quotes"),
        ({"image": {**CHOICES["image"], "tag": ""}}, "image.tag: : write a text"),
        ({"verifier": "false"}, "verifier: false: write true or false"),
        ({"console": {**CONSOLE, "enabled": "no"}}, "console.enabled: no: write true or false"),
    ],
)
def test_what_can_t_run_is_not_made(choices: JsonObject, problem: str) -> None:
    with pytest.raises(ChoiceRefused, match=problem):
        every(**choices)
    schema = jsonschema_rs.validator_for(SCHEMA)
    assert schema.is_valid(CHOICES) and not schema.is_valid({**CHOICES, **choices})


def test_who_answers_questions_is_scaled_by_its_lag_and_its_cpu_where_that_is_chosen_and_nobody_else_is() -> None:
    chosen = {**CHOICES, "autoscaling": {**CHOICES["autoscaling"], "enabled": True}}
    assert not of("HorizontalPodAutoscaler", every(**CHOSEN))
    files, found = chart_files(), manifests(chosen)
    scalers: dict[str, list[str]] = {}
    for part in ("webhook-scaling", "visibility-scaling"):
        assert filled(files[f"templates/{part}.yaml"], chosen) == found[part]
        [one] = found[part]
        assert (one["spec"]["minReplicas"], one["spec"]["maxReplicas"]) == (2, 6)
        scalers[one["spec"]["scaleTargetRef"]["name"]] = [each["type"] for each in one["spec"]["metrics"]]
    assert scalers == {"kuelog-webhook": ["Resource"], "kuelog-visibility": ["Resource", "Pods"]}
    # What the scaler has set stays as it is when the manifests are applied again.
    for part in ("webhook", "visibility", "services"):
        assert filled(files[f"templates/{part}.yaml"], chosen) == found[part]
        for one in of("Deployment", found[part]):
            assert ("replicas" in one["spec"]) is (one["metadata"]["name"] not in scalers)
    assert "visibility-scaling" not in manifests({**chosen, "visibility": False})
    lag = found["visibility-scaling"][0]["spec"]["metrics"][1]["pods"]["metric"]["name"]
    assert lag in {one.name for one in KUELOG}


def test_where_it_is_chosen_the_lag_is_served_by_kuelog_itself_and_no_adapter_is_asked() -> None:
    assert "external-metrics" not in manifests({**CHOICES, "autoscaling": {**CHOICES["autoscaling"], "enabled": True}})
    chosen = {**CHOICES, "autoscaling": {**CHOICES["autoscaling"], "enabled": True, "externalMetrics": True}}
    files, found = chart_files(), manifests(chosen)
    for part in ("visibility-scaling-by-itself", "external-metrics", "visibility"):
        assert filled(files[f"templates/{part}.yaml"], chosen) == found[part]
    assert "visibility-scaling" not in found
    [scaler], [service] = found["visibility-scaling-by-itself"], found["external-metrics"]
    assert [one["type"] for one in scaler["spec"]["metrics"]] == ["Resource", "External"]
    assert service["spec"]["service"]["name"] == "kuelog-visibility"
    [deployment] = of("Deployment", found["visibility"])
    env = {one["name"]: one.get("value") for one in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["KUELOG_EXTERNAL_METRICS"].lower() == "true"


def test_prometheus_s_operator_finds_all_who_serve_metrics_behind_one_service_also_while_they_are_not_ready() -> None:
    service, monitor = manifests({**CHOICES, "serviceMonitor": True})["service-monitor"]
    assert filled(chart_files()["templates/service-monitor.yaml"]) == [service, monitor]
    assert "service-monitor" not in manifests()
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [endpoint], [port] = monitor["spec"]["endpoints"], service["spec"]["ports"]
    assert (endpoint["port"], endpoint["honorLabels"]) == (port["name"], True)
    assert service["spec"]["publishNotReadyAddresses"] is True, "who is halted says so"
    found = every(**CHOSEN)
    for one in of("Deployment", found):
        template = one["spec"]["template"]
        assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
        served = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        assert served.get(port["targetPort"], port["port"]) == port["port"]
        silent = one["metadata"]["name"] == "kuelog-console"
        assert (port["targetPort"] in served) is not silent, "the visibility API and the webhook tell as well"
    given = [one["kind"] for one in yaml.safe_load_all(folders()["alerts_and_boards"]["operator.yaml"])]
    assert given == ["Service", "ServiceMonitor", "PrometheusRule"]


def test_services_may_export_traces_to_the_collector_that_is_chosen_and_to_none_by_default() -> None:
    rule = {"ports": [{"protocol": "TCP", "port": 4318}]}
    chosen = manifests({**CHOICES, "traces": {"endpoint": "http://c:4318", "ratio": "0.1", "egress": [rule]}})
    for found, endpoint, ratio, egress in ((manifests(), "", "1.0", []), (chosen, "http://c:4318", "0.1", [rule])):
        [policy] = [one for one in found["network"] if one["metadata"]["name"] == "kuelog-to-collector"]
        assert policy["spec"]["egress"] == egress
        services = [one for one in found["services"] if one["kind"] == "Deployment"]
        assert len(services) == len(SERVICES) - 1, "all but the one that has to be chosen"
        for one in services:
            [container] = one["spec"]["template"]["spec"]["containers"]
            environment = {each["name"]: each.get("value") for each in container["env"]}
            assert environment["OTEL_EXPORTER_OTLP_ENDPOINT"] == endpoint
            assert environment["OTEL_TRACES_SAMPLER_ARG"] == ratio
            assert exports({name: value or "" for name, value in environment.items()}) is bool(endpoint)


def our_chart(folder: Path) -> Path:
    """The chart without that of NATS, which `helm dependency update` fetches: what is ours is rendered without it."""
    chart = folder / "kuelog"
    shutil.copytree(FOLDER / "chart", chart)
    whole = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump({name: whole[name] for name in whole if name != "dependencies"}))
    return chart


def helm(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    assert HELM is not None
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run([HELM, *words], capture_output=True, text=True, timeout=60, check=False, env=env)


needs_helm = pytest.mark.skipif(
    HELM is None, reason="helm is not on this machine: make peers, or name it by KUELOG_HELM"
)


def test_streams_are_made_beside_the_services_that_wait_for_them_and_not_once_these_are_ready() -> None:
    """`helm install --wait` runs its hooks once everything is ready, and no service is before there are streams."""
    for name, text in chart_files().items():
        assert "helm.sh/hook" not in text, name
    job = f"\nkind: Job\nmetadata:\n  name: kuelog-streams{REVISION}\n"
    assert job in chart_files()["templates/streams.yaml"], "an upgrade can't change the Job of the one before"


@needs_helm
@pytest.mark.parametrize("setting", ["partitions=0", "partitions=four", "replicas=-1", "bus.scheme=http"])
def test_helm_refuses_values_that_can_t_be_installed(tmp_path: Path, setting: str) -> None:
    done = helm(tmp_path, "template", "kuelog", str(our_chart(tmp_path)), "--set", setting)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr


@needs_helm
@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["certManager=true"],
        ["console.enabled=true"],
        ["verifier=true", "serviceMonitor=true"],
        ["multiKueue.enabled=true"],
        ["image.tag=007", "replicas=3", "networkPolicies=false"],
        ["partitions=4", "multiKueue.enabled=true"],
        ["bus.scheme=tls", "bus.certificate=mine"],
        # As docs/adopt.md has it: what runs is recorded before anything is decided.
        ["replicas=0"],
        ["autoscaling.enabled=true"],
        ["autoscaling.enabled=true", "autoscaling.externalMetrics=true"],
    ],
)
def test_helm_itself_renders_the_plain_manifests(tmp_path: Path, settings: list[str]) -> None:
    chart = our_chart(tmp_path)
    words = [word for one in settings for word in ("--set-string" if one.startswith("image") else "--set", one)]
    done = helm(tmp_path, "template", "kuelog", str(chart), "--namespace", NAMESPACE, *words)
    assert done.returncode == 0, done.stderr
    linted = helm(tmp_path, "lint", str(chart), "--strict", *words)
    assert linted.returncode == 0, linted.stdout
    choices: JsonObject = json.loads(json.dumps(CHOICES))
    for one in settings:
        path, _, text = one.partition("=")
        *rooms, last = path.split(".")
        room = choices
        for name in rooms:
            room = room[name]
        room[last] = text if path.startswith("image") else yaml.safe_load(text)
    wanted = [one for name, part in manifests(choices).items() if name not in ("namespace", "nats") for one in part]
    # A Job can't be changed, so each revision has one of its own.
    plainly = done.stdout.replace("name: kuelog-streams-1\n", "name: kuelog-streams\n")
    rendered = {key(one): one for one in yaml.safe_load_all(plainly) if one}
    assert rendered == {key(one): one for one in wanted}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pods_of_one_kind_are_spread_over_zones_and_over_hosts(kind: str) -> None:
    for one in of(kind):
        spec = one["spec"]["template"]["spec"]
        spread = {each["topologyKey"]: each for each in spec["topologySpreadConstraints"]}
        assert list(spread) == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"], one["metadata"]["name"]
        for each in spread.values():
            assert each["labelSelector"]["matchLabels"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
        zones = spread["topology.kubernetes.io/zone"]["whenUnsatisfiable"]
        assert zones == "ScheduleAnyway", "a cluster may have fewer zones than there are replicas"


def test_argo_cd_makes_the_job_of_the_streams_anew_with_each_sync_beside_all_the_rest() -> None:
    """It renders every release with the same revision, and no Job can be changed."""
    [job] = [one for one in every() if one["kind"] == "Job" and one["metadata"]["name"] == "kuelog-streams"]
    assert job["metadata"]["annotations"] == {
        "argocd.argoproj.io/hook": "Sync",
        "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
    }


def test_every_service_is_a_deployment_of_two_with_probes_a_budget_and_no_root() -> None:
    found = {one["metadata"]["name"]: one for one in of("Deployment")}
    assert set(found) == {f"kuelog-{name}" for name in (*SERVICES, "webhook", "visibility", "console", VERIFIER)}
    budgets = {one["metadata"]["name"]: one["spec"] for one in of("PodDisruptionBudget")}
    for name, one in found.items():
        spec = one["spec"]
        pod = spec["template"]["spec"]
        # Sessions of browsers live in one process, and nobody waits for the verifier.
        assert spec["replicas"] == (1 if name in ("kuelog-console", "kuelog-verifier") else 2)
        assert budgets[name]["selector"] == spec["selector"]
        assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
        assert pod["securityContext"]["runAsNonRoot"] is True
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        ports = {port["name"] for port in container["ports"]}
        assert ("metrics" in ports) is ("--metrics" in container["args"]) is (name != "kuelog-console")
        assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert container["readinessProbe"]["httpGet"]["port"] in ports
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_whom_the_api_server_calls_answers_on_until_nobody_is_sent_there_any_more() -> None:
    """A pod that is told to end is in the lists of where to send for some seconds yet, and a webhook that is not reached refuses jobs."""
    called = {one["spec"]["service"]["name"] for one in of("APIService")}
    hooks = [*of("MutatingWebhookConfiguration"), *of("ValidatingWebhookConfiguration")]
    called |= {each["clientConfig"]["service"]["name"] for one in hooks for each in one["webhooks"]}
    assert called == {"kuelog-webhook", "kuelog-visibility"}
    for one in of("Deployment"):
        pod = one["spec"]["template"]["spec"]
        if one["metadata"]["name"] in called:
            word, seconds = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
            assert word == "sleep" and 3 <= int(seconds) < pod["terminationGracePeriodSeconds"] - 5


def test_only_those_who_speak_with_the_api_server_have_an_account_that_can() -> None:
    able = {one["metadata"]["name"] for one in of("ServiceAccount") if one["automountServiceAccountToken"]}
    assert able == {f"kuelog-{name}" for name in ON_CLUSTER}
    bound = {subject["name"] for one in (*of("ClusterRoleBinding"), *of("RoleBinding")) for subject in one["subjects"]}
    assert bound == able


def test_the_watcher_cannot_write_and_nobody_may_do_everything() -> None:
    roles = {one["metadata"]["name"]: one["rules"] for one in (*of("ClusterRole"), *of("Role")) if "rules" in one}
    assert {verb for rule in roles[f"{NAMESPACE}-watcher"] for verb in rule["verbs"]} == {"list", "watch"}
    for name, rules in roles.items():
        for rule in rules:
            assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"]), name
            touches = {"secrets", "mutatingwebhookconfigurations", "customresourcedefinitions"} & set(rule["resources"])
            open_ended = set(rule["verbs"]) - ({"list", "watch"} if "secrets" not in touches else set())
            assert not touches or not open_ended or rule.get("resourceNames"), f"{name} may change any of {touches}"


def test_each_binding_leads_from_a_role_that_is_there_to_an_account_that_is_there() -> None:
    there = {key(one) for one in every(**CHOSEN)}
    for one in (*of("ClusterRoleBinding"), *of("RoleBinding")):
        space = one["metadata"].get("namespace", "")
        assert (one["roleRef"]["kind"], space, one["roleRef"]["name"]) in there
        for subject in one["subjects"]:
            assert ("ServiceAccount", subject["namespace"], subject["name"]) in there
    for one in (*of("Deployment"), *of("Job")):
        account = one["spec"]["template"]["spec"]["serviceAccountName"]
        assert ("ServiceAccount", NAMESPACE, account) in there


def test_people_get_the_roles_that_kueue_gives_them() -> None:
    roles = {one["metadata"]["name"]: one for one in of("ClusterRole")}
    for name in ("batch-admin", "batch-user"):
        (selector,) = roles[f"kuelog-{name}-role"]["aggregationRule"]["clusterRoleSelectors"]
        label = f"rbac.kueue.x-k8s.io/{name}"
        assert selector == {"matchLabels": {label: "true"}}
        assert any(one["metadata"].get("labels", {}).get(label) == "true" for one in roles.values())
    user = [one for one in roles.values() if one["metadata"].get("labels", {}).get("rbac.kueue.x-k8s.io/batch-user")]
    names = {one["metadata"]["name"] for one in user}
    assert {"kuelog-job-editor-role", "kuelog-localqueue-viewer-role", "kuelog-rayjob-editor-role"} <= names
    assert not {name for name in names if "clusterqueue" in name}


def test_pods_that_need_the_bus_or_the_api_server_are_let_through_and_no_others() -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in of("NetworkPolicy")}
    for one in (*of("Deployment"), *of("Job")):
        template = one["spec"]["template"]
        env = {entry["name"] for entry in template["spec"]["containers"][0].get("env", ())}
        service = template["metadata"]["labels"]["app.kubernetes.io/component"]
        assert ("kuelog.io/bus" in template["metadata"]["labels"]) == ("KUELOG_NATS" in env)
        assert ("kuelog.io/api" in template["metadata"]["labels"]) == (service in ON_CLUSTER)
    assert policies["kuelog-to-bus"]["podSelector"] == {"matchLabels": {"kuelog.io/bus": "true"}}
    assert all("Egress" in policies[name]["policyTypes"] for name in ("kuelog", "kuelog-bus"))


async def checked(cluster: Cluster, values: list[JsonObject]) -> None:
    """Have an API server say of each whether it would take it as it is; fields that it does not know it refuses."""
    await cluster.start()
    client = await cluster.connect("")
    try:
        await cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for value in values:
            place, meta = place_of(value), value["metadata"]
            space, query = meta.get("namespace", ""), "?dryRun=All&fieldValidation=Strict"
            try:
                answer = await client.request("POST", path_of(place, space) + query, value)
            except ObjectConflict:
                there = (await client.get(place, space, meta["name"]))["metadata"]
                meta = {**meta, "resourceVersion": there["resourceVersion"]}
                path = path_of(place, space, meta["name"]) + query
                answer = await client.request("PUT", path, {**value, "metadata": meta})
            assert answer["kind"] == value["kind"]
    finally:
        await client.close()
        await cluster.stop()


def place_of(value: JsonObject) -> Resource:
    group, _, version = value["apiVersion"].rpartition("/")
    kinds = [*BUILT_IN, *(kind for one in definitions() for kind in kinds_of(one))]
    found = next(one for one in kinds if (one.group, one.version, one.kind) == (group, version, value["kind"]))
    return resource_at(found)


@pytest.mark.any_cluster
@pytest.mark.parametrize(
    "choices",
    [{}, {"networkPolicies": False, "replicas": 3, **CHOSEN}, DIVIDED],
    ids=["default", "chosen", "divided"],
)
async def test_the_plain_manifests_are_taken_by_an_api_server(cluster: Cluster, choices: JsonObject) -> None:
    await checked(cluster, every(**choices))


@pytest.mark.any_cluster
async def test_the_examples_are_taken_by_an_api_server(cluster: Cluster) -> None:
    files = sorted(path for path in (ROOT / "examples").rglob("*.yaml") if path.name[0].isdigit())
    found = [one.value for path in files for one in read_manifests([path])]
    assert {"ClusterQueue", "Job", "Pod"} <= {one["kind"] for one in found}
    for one in found:
        if "namespace" in one["metadata"]:
            one["metadata"]["namespace"] = "default"
    await checked(cluster, found)
