/**
 * A selection strategy in one object: the keys of `Selection` that it reads, and how it reads, checks, lowers and draws
 * them. To add a strategy, write one and list it in `registry.ts`.
 */
import type * as z from 'zod';
import type { AgentDef, NodeId, ToolDef } from '@sluice-internal/kernel/ir';
import type { Drawing } from '../drawing.ts';
import type { Gated, Lowering } from '../lowering.ts';
import type { Reading, Team } from '../model.ts';

export interface StrategyParts<Type extends string, Fields extends z.ZodRawShape, Model> {
  readonly type: Type;
  /** The keys of `Selection` beside `Type`. All are optional there; `read` reports one that is missing. */
  fields(): Fields;
  /** True if the strategy ends the session by its own rules and ignores `Termination`. */
  readonly endsItself?: boolean;
  /** Resolves names and reports mistakes. Null if too little could be read to go on. */
  read(selection: z.output<z.ZodObject<Fields>>, reading: Reading, team: Team): Model | null;
  /** The most turns each place can have. Absent if `MaxIterations` caps the turns. */
  turnsMax?(model: Model): number;
  /** Models that the strategy itself asks, such as a selector, and the tools of their replies. */
  asks?(model: Model, team: Team): Asked;
  /** The keywords that lead through a gate. A termination that matches one passes the same gate. */
  gates?(model: Model): readonly Gated[];
  /** Adds the nodes of the session and returns its entry. */
  lower(l: Lowering, model: Model): NodeId;
  draw(model: Model, team: Team): Drawing;
}

interface Asked {
  readonly agents: readonly AgentDef[];
  readonly tools?: { readonly [name: string]: ToolDef };
}

/** A strategy whose model type is hidden, so that all strategies fit in one list. */
export interface Strategy<Type extends string = string, Fields extends z.ZodRawShape = z.ZodRawShape> {
  readonly type: Type;
  fields(): Fields;
  readonly endsItself: boolean;
  plan(selection: unknown, reading: Reading, team: Team): Plan | null;
}

/** A strategy applied to one document. */
export interface Plan {
  /** Null if `MaxIterations` caps the turns. */
  readonly turnsMax: number | null;
  readonly asked: Asked;
  readonly drawing: Drawing;
  readonly gates: readonly Gated[];
  lower(l: Lowering): NodeId;
}

export function strategy<const Type extends string, const Fields extends z.ZodRawShape, Model>(
  parts: StrategyParts<Type, Fields, Model>,
): Strategy<Type, Fields> {
  const { type, endsItself = false } = parts;
  return {
    type,
    fields: () => parts.fields(),
    endsItself,
    plan(selection, reading, team) {
      const model = parts.read(selection as z.output<z.ZodObject<Fields>>, reading, team);
      if (model === null) return null;
      return {
        turnsMax: parts.turnsMax?.(model) ?? null,
        asked: parts.asks?.(model, team) ?? { agents: [] },
        drawing: parts.draw(model, team),
        gates: parts.gates?.(model) ?? [],
        lower: (l) => parts.lower(l, model),
      };
    },
  };
}

/** Reports a section that the strategy needs and the document lacks. A faulty section is already reported. */
export function lacking({ body, report }: Reading, type: string, key: string): null {
  if (body.sound)
    report.error('missing-field', body.at('Selection'), `the strategy \`${type}\` needs \`${key}\``, {
      help: `Add \`${key}: …\` to \`Selection\`.`,
    });
  return null;
}

/** The same for a list that is empty or absent. */
export function lackingEntries({ body, report }: Reading, type: string, key: string): void {
  const message = `${type} selection needs at least one entry in \`${key}\``;
  const help = `Add an entry to \`${key}\` of \`Selection\`.`;
  if (body.sound) report.error('missing-field', body.at('Selection'), message, { help });
}
