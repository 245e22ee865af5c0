"""How HAMi speaks of NVIDIA's, AMD's and Ascend's cards, as its stand-in needs it: names, annotations, and what is left unsaid.

Written down here once more on purpose: the stand-in has to disagree where kuelog's own table is wrong.
"""

import msgspec


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """One vendor's cards."""

    word: str
    register: str
    allocated: str
    to_allocate: str
    count: str
    memory: str
    cores: str
    use: str
    avoid: str
    percent: str = ""
    handshake: str = ""
    use_model: str = ""
    avoid_model: str = ""
    label: str = "accelerator"
    """Where a node says which product its cards are."""
    split: int = 10
    sizes: tuple[int, ...] = ()
    """The MiB of the slices into which a card can be cut; more is the whole card."""
    compute_units: bool = False
    """Cores are percent in a request and compute units on the card; whoever says nothing asks for all."""
    keeps_model: bool = False
    """Allocations name the model of the card."""

    def names(self) -> tuple[str, ...]:
        """The resources by which its cards are asked for."""
        return tuple(name for name in (self.count, self.memory, self.percent, self.cores) if name)


NVIDIA = Dialect(
    word="NVIDIA",
    register="hami.io/node-nvidia-register",
    allocated="hami.io/vgpu-devices-allocated",
    to_allocate="hami.io/vgpu-devices-to-allocate",
    handshake="hami.io/node-handshake",
    count="nvidia.com/gpu",
    memory="nvidia.com/gpumem",
    percent="nvidia.com/gpumem-percentage",
    cores="nvidia.com/gpucores",
    use="nvidia.com/use-gpuuuid",
    avoid="nvidia.com/nouse-gpuuuid",
    use_model="nvidia.com/use-gputype",
    avoid_model="nvidia.com/nouse-gputype",
    label="nvidia.com/gpu.product",
)
AMD = Dialect(
    word="AMD",
    register="hami.io/node-amd-register",
    allocated="hami.io/amd-devices-allocated",
    to_allocate="hami.io/amd-devices-to-allocate",
    count="amd.com/gpu",
    memory="amd.com/gpumem",
    cores="amd.com/gpucores",
    use="amd.com/use-gpu-uuid",
    avoid="amd.com/nouse-gpu-uuid",
    use_model="amd.com/use-gputype",
    avoid_model="amd.com/nouse-gputype",
    compute_units=True,
    keeps_model=True,
)
ASCEND = Dialect(
    word="Ascend910B3",
    register="hami.io/node-register-Ascend910B3",
    allocated="hami.io/Ascend910B3-devices-allocated",
    to_allocate="hami.io/Ascend910B3-devices-to-allocate",
    handshake="hami.io/node-handshake-Ascend910B3",
    count="huawei.com/Ascend910B3",
    memory="huawei.com/Ascend910B3-memory",
    cores="huawei.com/Ascend910B3-core",
    use="hami.io/use-Ascend910B3-uuid",
    avoid="hami.io/no-use-Ascend910B3-uuid",
    split=4,
    sizes=(16384, 32768),
)
DIALECTS = {one.word: one for one in (NVIDIA, AMD, ASCEND)}
