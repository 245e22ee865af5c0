"""What controllers share that make objects of another kind: a change of what they have made is a matter of its owner."""

from abc import abstractmethod
from typing import ClassVar

from ops.sandbox.embedded_cluster.controllers.controller import Controller
from ops.sandbox.embedded_cluster.controllers.owned_pods import owner_of
from ops.sandbox.embedded_cluster.store import Name, Object, ObjectChange


class OwnerController(Controller):
    """Looks at an owner when it or one of its own changes, unless it is being deleted."""

    kind: ClassVar[str]
    """The owner's kind, as references to it say it."""
    owner_key: ClassVar[str]
    owned_key: ClassVar[str]

    def kinds(self) -> tuple[str, ...]:
        """The owners, and what they own."""
        return (self.owner_key, self.owned_key)

    def changed(self, change: ObjectChange, name: Name) -> None:
        """Look at the owner."""
        if change.key == self.owned_key:
            owner = owner_of(change.object, self.kind)
            name = (name[0], owner["name"]) if owner is not None else ("", "")
        value = self.store.get(self.owner_key, name)
        if value is not None:
            self.look(self.owner_key, name, value)

    def look(self, key: str, name: Name, value: Object) -> None:
        """Reconcile owners; what they own has no business of its own."""
        if key == self.owner_key and not value["metadata"].get("deletionTimestamp"):
            self.reconcile(name, value)

    @abstractmethod
    def reconcile(self, name: Name, value: Object) -> None:
        """Bring what is there one step nearer to what the owner asks for."""
