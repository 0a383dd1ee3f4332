/** The parts of the chaos campaign, in the order in which they take turns. */
import { faults } from './faults.ts';
import { memory } from './memory.ts';
import type { Part } from './part.ts';
import { clocks, disk, files, kills, stops } from './processes.ts';
import { sandbox } from './sandbox.ts';
import { tampering } from './tamper.ts';

export const PARTS: readonly Part[] = [kills, stops, clocks, disk, faults, files, memory, tampering, sandbox];
