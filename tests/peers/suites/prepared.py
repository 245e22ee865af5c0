"""The copy of Kueue's module in which kuelog takes the place of its controllers, and its suites, compiled."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.peers.build import MODULES, copy, go
from tests.places import ROOT

KUEUE = next(one for one in MODULES if one.path == "sigs.k8s.io/kueue")
SUITES = "test/integration/singlecluster"
"""Where its suites of one cluster are, in the module."""
_OF_CLUSTERS = "multikueue"
"""With which the names of those begin that have several."""
_ADDED = {
    "framework.go": "test/integration/framework/kuelog.go",
    "attempts.go": "test/util/kuelog.go",
    "testutil.go": "pkg/util/tapped/testutil/testutil.go",
    "tapped.go": "pkg/util/tapped/tapped.go",
}
"""Our own files, and where they come to lie in the module."""
_TAPPED = '"sigs.k8s.io/kueue/pkg/util/tapped"\n'


class Change(msgspec.Struct, frozen=True):
    """What stands in the place of a text of a file."""

    file: str
    old: str
    new: str
    times: int = 1
    """How often it stands there."""


class TextMissing(Exception):
    """The module is another one than that for which a change was written: look at the file, and write the change anew."""

    def __init__(self, change: Change) -> None:
        super().__init__(
            f"{KUEUE.path}@{KUEUE.version} has in {change.file} not {change.times} times {change.old.strip()!r}"
        )


_FRAMEWORK, _GATES = "test/integration/framework/framework.go", "pkg/features/kube_features.go"
_CLUSTERS, _HOME = (
    "pkg/controller/admissionchecks/multikueue/controllers.go",
    'utiltesting.MakeNamespace("kueue-system")',
)
_QUEUES, _CORE = "pkg/cache/queue/manager.go", "pkg/controller/core/core.go"
_JOBS, _ERRORS = "pkg/controller/jobframework/reconciler.go", "pkg/util/testing/error_matchers.go"
CHANGES = (
    Change(_FRAMEWORK, "func (f *Framework) StartManager(", "func (f *Framework) startTheirs("),
    Change(_FRAMEWORK, "func (f *Framework) StopManager(", "func (f *Framework) stopTheirs("),
    Change(
        _FRAMEWORK,
        'ginkgo.By("tearing down the test environment")\n',
        'ginkgo.By("tearing down the test environment")\n\tf.stopOurs()\n',
    ),
    *(
        Change(file, '"k8s.io/component-base/metrics/testutil"', '"sigs.k8s.io/kueue/pkg/util/tapped/testutil"')
        for file in (
            "test/util/metrics.go",
            f"{SUITES}/controller/core/clusterqueue_controller_test.go",
            f"{SUITES}/controller/core/custom_labels_test.go",
            f"{SUITES}/scheduler/fairsharing/fair_sharing_test.go",
        )
    ),
    # Its specs are asked in order, and after one that fails none would be asked any more.
    Change(
        f"{SUITES}/webhook/core/workload_test.go",
        "ginkgo.Ordered, func() {",
        "ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {",
        times=5,
    ),
    # kuelog's webhook refuses as the API server does, with 422 and each field; where Kueue's says 403 and all in one sentence, either will do.
    Change(
        _ERRORS, '"github.com/onsi/gomega/format"\n', '"github.com/onsi/gomega"\n\t"github.com/onsi/gomega/format"\n'
    ),
    Change(
        _ERRORS,
        "return BeError(ForbiddenError)",
        "return gomega.Or(BeError(ForbiddenError), BeError(InvalidError))",
    ),
    Change(
        _CORE, '"sigs.k8s.io/kueue/pkg/util/roletracker"\n', f'"sigs.k8s.io/kueue/pkg/util/roletracker"\n\t{_TAPPED}'
    ),
    Change(_CORE, "\tlqMetrics := metrics.", "\ttapped.Configuration = cfg\n\tlqMetrics := metrics."),
    Change(
        _QUEUES, '"sigs.k8s.io/kueue/pkg/util/roletracker"\n', f'"sigs.k8s.io/kueue/pkg/util/roletracker"\n\t{_TAPPED}'
    ),
    Change(
        _QUEUES,
        "func WithExcludedResourcePrefixes(excludedPrefixes []string) Option {\n",
        "func WithExcludedResourcePrefixes(excludedPrefixes []string) Option {\n\ttapped.ExcludedPrefixes = excludedPrefixes\n",
    ),
    Change(
        _QUEUES,
        "func WithResourceTransformations(transforms []config.ResourceTransformation) Option {\n",
        "func WithResourceTransformations(transforms []config.ResourceTransformation) Option {\n\ttapped.Transformations = transforms\n",
    ),
    Change(
        _CLUSTERS,
        '"sigs.k8s.io/kueue/pkg/util/roletracker"\n',
        f'"sigs.k8s.io/kueue/pkg/util/roletracker"\n\t{_TAPPED}',
    ),
    Change(
        _CLUSTERS,
        "\thelper, err := admissioncheck.",
        """\ttapped.MultiKueue = map[string]any{
\t\t"gcInterval": options.gcInterval.String(), "origin": options.origin, "workerLostTimeout": options.workerLostTimeout.String(),
\t\t"dispatcherName": options.dispatcherName, "clusterProfile": options.clusterProfileConfig,
\t}
\thelper, err := admissioncheck.""",
    ),
    # Where kuelog looks for Secrets and ClusterProfiles, as it runs in no pod, and what later versions call what gives access.
    Change("test/integration/multikueue/setup_test.go", "config.DefaultNamespace", '"kuelog-system"'),
    Change(
        "test/integration/multikueue/setup_test.go",
        "no credentials provider configured",
        "no access provider configured",
        times=13,
    ),
    *(
        Change(f"test/integration/{suite}/suite_test.go", _HOME, _HOME.replace("kueue", "kuelog", 1))
        for suite in ("multikueue", "multikueue/scheduler", "multikueue/tas")
    ),
    Change(_JOBS, '"sigs.k8s.io/kueue/pkg/podset"\n', f'"sigs.k8s.io/kueue/pkg/podset"\n\t{_TAPPED}'),
    Change(
        _JOBS,
        "\t\topt(&options)\n\t}\n\treturn options\n",
        """\t\topt(&options)
\t}
\tnamespaces := ""
\tif options.ManagedJobsNamespaceSelector != nil {
\t\tnamespaces = options.ManagedJobsNamespaceSelector.String()
\t}
\ttapped.ToldOfJobs(options.ManageJobsWithoutQueueName, options.WaitForPodsReady, options.LabelKeysToCopy, namespaces)
\treturn options
""",
    ),
    Change(
        _GATES,
        '"k8s.io/component-base/featuregate/testing"\n)',
        f'"k8s.io/component-base/featuregate/testing"\n\n\t{_TAPPED})',
    ),
    Change(
        _GATES,
        "f featuregate.Feature, value bool) {\n",
        "f featuregate.Feature, value bool) {\n\ttb.Cleanup(func() { tapped.GatesChanged() })\n\tdefer func() { tapped.GatesChanged() }()\n",
    ),
    Change(
        _GATES,
        "featureGates map[featuregate.Feature]bool) {\n",
        "featureGates map[featuregate.Feature]bool) {\n\ttb.Cleanup(func() { tapped.GatesChanged() })\n\tdefer func() { tapped.GatesChanged() }()\n",
    ),
)
_DEFINITIONS = {
    "appwrapper-crds": ("github.com/project-codeflare/appwrapper", "config/crd/bases/*.yaml"),
    "cluster-autoscaler": ("k8s.io/autoscaler/cluster-autoscaler/apis", "config/crd/*.yaml"),
    "clusterprofile": ("sigs.k8s.io/cluster-inventory-api", "config/crd/bases/*.yaml"),
    "jobset-operator": ("sigs.k8s.io/jobset", "config/components/crd/bases/*.yaml"),
    "kf-trainer-crds": ("github.com/kubeflow/trainer/v2", "manifests/base/crds/*.yaml"),
    "kf-trainer-runtimes": ("github.com/kubeflow/trainer/v2", "manifests/base/runtimes/*_distributed.yaml"),
    "leaderworkerset-operator": ("sigs.k8s.io/lws", "config/crd/bases/*.yaml"),
    "mpi-operator": ("github.com/kubeflow/mpi-operator", "manifests/base/*.yaml"),
    "ray-operator-crds": ("github.com/ray-project/kuberay/ray-operator", "config/crd/bases/*.yaml"),
    "spark-operator-crds": ("github.com/kubeflow/spark-operator/v2", "config/crd/bases/*.yaml"),
    "training-operator-crds": ("github.com/kubeflow/training-operator", "manifests/base/crds/*.yaml"),
}
"""Whose definitions suites find in a folder of `dep-crds`, and where they are in their modules, as in Kueue's own Makefile-deps.mk."""
_TWICE = ("kustomization.yaml", "kubeflow.org_mpijobs.yaml")
"""No definition, and one of which the module of its own has a newer version."""


def prepared(into: Path) -> Path:
    """The copy of the module, with all changes; made anew where these have changed. Raises `TextMissing`."""
    added = {file: (ROOT / "tests/peers/suites/added" / name).read_bytes() for name, file in _ADDED.items()}
    kept = msgspec.json.encode((KUEUE.version, CHANGES, _DEFINITIONS))
    stamp = hashlib.sha256(b"".join((kept, *added.values()))).hexdigest()
    folder, stamped = into / "module", into / "stamp"
    if stamped.exists() and stamped.read_text() == stamp:
        return folder
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    copy(KUEUE, folder)
    for change in CHANGES:
        _change(folder, change)
    for file, text in added.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(text)
    (folder / "config/components/crd/_output").symlink_to("bases")  # Envtest has them converted by itself.
    for name, (path, files) in _DEFINITIONS.items():
        _gather(folder / "dep-crds" / name, Path(go(folder, "list", "-m", "-f", "{{.Dir}}", path).strip()), files)
    stamped.write_text(stamp)
    return folder


def compiled(suites: Sequence[str], into: Path) -> list[Path]:
    """The programs of these suites. Raises `TextMissing`, and `CalledProcessError` where Go says why not."""
    folder = prepared(into)
    found = [into / f"{suite.replace('/', '_')}.test" for suite in suites]
    for suite, program in zip(suites, found, strict=True):
        if not program.exists():
            go(folder, "test", "-c", "-o", str(program), f"./{_place(suite)}")
    return found


def _place(suite: str) -> str:
    return f"test/integration/{suite}" if suite.startswith(_OF_CLUSTERS) else f"{SUITES}/{suite}"


def _change(folder: Path, change: Change) -> None:
    file = folder / change.file
    text = file.read_text()
    if text.count(change.old) != change.times:
        raise TextMissing(change)
    file.write_text(text.replace(change.old, change.new))


def _gather(into: Path, module: Path, files: str) -> None:
    into.mkdir(parents=True)
    for file in module.glob(files):
        if file.name != _TWICE[0] and (file.name != _TWICE[1] or into.name == "mpi-operator"):
            shutil.copyfile(file, into / file.name)
