/** What every part of the lowering of a workflow needs to know. */
import type { NodeId } from '../../../ir/nodes.ts';
import type { Builder } from '../../lower/builder.ts';
import type { Range } from '../../source/range.ts';
import type { Step, Workflow } from './model.ts';

export interface Lowering {
  readonly builder: Builder;
  readonly workflow: Workflow;
  /** Whether who wrote the input is kept in a slot. */
  readonly tracks: boolean;
  at(step: Step): Range;
  /** The id of the node that enters a step. */
  idOf(step: Step): NodeId;
}
