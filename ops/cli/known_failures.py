"""Which failures a person can do something about, whatever the command; it is imported once something has failed."""

from ops.console.guard import ConsoleUnserved
from ops.files.manifests import ManifestBroken
from ops.files.reading import Unreadable
from ops.files.run_folder import FolderHeld, FolderUnusable, HoldsNoLog, NotADemosFolder
from ops.production.archive.errors import (
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveNeverGrows,
    ArchiveOfAnotherLog,
    BackupRefused,
    FolderUnreadable,
    HistoryIncomplete,
    LogDiffers,
    NotProvable,
    QueryRefused,
    StampRefused,
)
from ops.production.archive.proof.approvers import ApproverRefused
from ops.production.archive.proof.handing_out import NotHandedOut
from ops.production.archive.proof.witness import WitnessKeyMissing
from ops.production.configuration.configuration_file import ConfigurationBroken
from ops.production.kubernetes.client import KubeConfigMissing
from ops.production.listeners.listening import PortTaken
from ops.production.log.server.server import NatsMissing, StoreInUse
from ops.production.log.snapshots import SnapshotUnusable
from ops.production.log.streams import SeveralPartitions
from ops.production.log.tree_moves import PartitionsRefused
from ops.production.process.span_exporter import ExporterUnknown
from ops.production.served import NoSuchPartition
from ops.production.visibility.server import VisibilityUnserved
from ops.queries.billing.problems import BillRefused
from ops.queries.point import NotOnTheLog
from ops.queries.quarantine import QuarantineRefused
from ops.queries.settings_change import BadChange
from ops.queries.time_travel import BadTime
from services.runtime.cluster_port import ClusterUnavailable, ObjectInvalid
from services.runtime.log_errors import LogGap, LogRegressed, LogUnavailable, UnsafeStream
from services.runtime.partition.errors import MessageHalts

KNOWN: tuple[type[Exception], ...] = (
    ArchiveDamaged,
    ArchiveGoesFurther,
    ArchiveNeverGrows,
    ArchiveOfAnotherLog,
    BackupRefused,
    BadChange,
    BadTime,
    ApproverRefused,
    BillRefused,
    MessageHalts,
    QuarantineRefused,
    ClusterUnavailable,
    ConfigurationBroken,
    ConsoleUnserved,
    ExporterUnknown,
    FolderHeld,
    FolderUnreadable,
    FolderUnusable,
    HistoryIncomplete,
    HoldsNoLog,
    KubeConfigMissing,
    LogDiffers,
    LogGap,
    LogRegressed,
    LogUnavailable,
    ManifestBroken,
    NatsMissing,
    NotADemosFolder,
    NotHandedOut,
    NotProvable,
    NotOnTheLog,
    ObjectInvalid,
    PortTaken,
    QueryRefused,
    PartitionsRefused,
    NoSuchPartition,
    SeveralPartitions,
    SnapshotUnusable,
    StampRefused,
    StoreInUse,
    Unreadable,
    UnsafeStream,
    VisibilityUnserved,
    WitnessKeyMissing,
)
