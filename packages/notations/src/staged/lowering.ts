/** The state that all parts of the lowering share, and the names and limits of stages. */
import type { Approvers, MeterId, Node, NodeId } from '@sluice-internal/kernel/ir';
import type { Builder, Kit, StageProtections, Step } from '@sluice-internal/compile/lower';
import type { Stage, Staged } from './model.ts';
import type { Visits } from './kinds.ts';

export interface Lowering {
  readonly kit: Kit;
  readonly builder: Builder;
  readonly staged: Staged;
  /** Empty, or `teams/<id>/` for the stages of a team. */
  readonly prefix: string;
  /** The number of times that these stages can start in one run. */
  readonly startsMax: number;
  readonly visits: Visits;
  /** The node after an accepted output. */
  readonly finished: NodeId;
  readonly scopes: Scopes;
}

/** The budget that calls are charged to while the lowering adds nodes of one stage. */
export interface Scope {
  readonly meters: readonly MeterId[];
  /** The node for a call that does not fit into a budget. */
  readonly overspent: () => NodeId;
  /** The people who may answer if the stage escalates. */
  readonly approvers?: Approvers | undefined;
  /** The protections of the stage, if it has its own. */
  readonly own?: StageProtections | null;
}

/** The current stage. The builder completes each new node with it. */
export interface Scopes {
  current: Scope | null;
}

export function within<Result>({ scopes }: Lowering, scope: Scope | null, add: () => Result): Result {
  const before = scopes.current;
  scopes.current = scope;
  try {
    return add();
  } finally {
    scopes.current = before;
  }
}

/** The node with the meters of the current stage. Questions to people are free. */
export function inScope({ current }: Scopes, node: Node): Node {
  if (current === null || node.onBudget !== undefined) return node;
  const calls = node.op === 'do' && node.effect.kind !== 'ask';
  if (!calls && node.label.enters === undefined && node.needs === undefined) return node;
  const charges = calls ? [...(node.charges ?? []), ...current.meters] : (node.charges ?? []);
  return { ...node, ...(charges.length === 0 ? {} : { charges }), onBudget: current.overspent() };
}

/** The name of a stage in reports. */
export function nameOf({ prefix }: Lowering, stage: string): string {
  return `${prefix}${stage}`;
}

/** The first node of a stage. */
export function entryOf(l: Lowering, stage: string): NodeId {
  return l.builder.idOf(nameOf(l, stage));
}

/** A step that belongs to a stage. Errors and questions name the stage. */
export function stepOf(l: Lowering, stage: string, what: string): Step {
  const name = nameOf(l, stage);
  return { hint: `${name}.${what}`, origin: name };
}

/** Null if the stage has the protections of the document. */
export function ownProtections(l: Lowering, stage: Stage): StageProtections | null {
  const { protections } = stage;
  return protections === l.staged.definitions.protections ? null : { stage: nameOf(l, stage.id), protections };
}
