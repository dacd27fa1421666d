"""The address spaces of AMDGPU that are views of others: which storage really holds their bytes."""

from __future__ import annotations

from attrs import frozen

from dwarfgpu.errors import EvaluationError, MissingContext
from dwarfgpu.targets.amdgpu import numbers
from dwarfgpu.targets.amdgpu.apertures import SIZE, Apertures, locate
from dwarfgpu.targets.amdgpu.scratch import lane_segments
from dwarfgpu.targets.target import Piece, Scope


@frozen
class LaneView:
    """private_lane and ``private_lane<n>``: private_wave memory, seen by one lane."""

    fixed_lane: int | None = None
    """The lane of ``private_lane<n>``; None: the lane of the context."""

    def pieces(self, address: int, size: int, lane: int | None, wave_size: int) -> list[Piece]:
        """Return the dwords of the wave's memory that hold a byte range of the lane."""
        if self.fixed_lane is not None:
            lane = self.fixed_lane
        if lane is None:
            message = "a private_lane address means the memory of a lane, and there is no lane"
            raise MissingContext("lane", message)
        if not 0 <= lane < wave_size:
            message = f"lane {lane} does not exist in a wave of {wave_size} lanes"
            raise EvaluationError("memory_unavailable", message)
        segments = lane_segments(address, size, lane, wave_size)
        return [(numbers.PRIVATE_WAVE, start, length) for start, length in segments]

    def scope(self, address: int) -> str:
        return Scope.LANE if self.fixed_lane is None else Scope.WAVE


PRIVATE_LANE = LaneView()


@frozen
class GenericView:
    """generic: global memory with windows to local and private memory."""

    apertures: Apertures | None
    """None if they are in the queue (GFX7-GFX8), and are not known."""

    def pieces(self, address: int, size: int, lane: int | None, wave_size: int) -> list[Piece]:
        """Return the global, local or private_wave memory of a byte range, cut where an aperture begins or ends."""
        pieces: list[Piece] = []
        end = address + size
        while address < end:
            length = min(SIZE - address % SIZE, end - address)
            space, start = locate(address, self._apertures())
            if space == numbers.PRIVATE_LANE:
                pieces.extend(PRIVATE_LANE.pieces(start, length, lane, wave_size))
            elif pieces and pieces[-1][0] == space == numbers.GLOBAL:
                pieces[-1] = (space, pieces[-1][1], pieces[-1][2] + length)
            else:
                pieces.append((space, start, length))
            address += length
        return pieces

    def scope(self, address: int) -> str:
        space, _start = locate(address, self._apertures())
        if space == numbers.LOCAL:
            return Scope.WORKGROUP
        return Scope.LANE if space == numbers.PRIVATE_LANE else Scope.PROCESS

    def _apertures(self) -> Apertures:
        if self.apertures is None:
            message = "a generic address means nothing without the apertures of the queue"
            hint = "GFX7 and GFX8 keep them in the AQL queue, at bytes 64 and 68"
            raise MissingContext("apertures", message, hint=hint)
        return self.apertures
