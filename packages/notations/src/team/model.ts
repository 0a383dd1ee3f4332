/** A team after reading: names resolved, defaults applied, every agent with its tools and its view of the history. */
import type { AgentDef, Expr, ToolDef } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Verifier } from '@sluice-internal/compile/lower';
import type { Definitions, Names, SectionNames, Shaped } from '@sluice-internal/compile/document';
import type { Path, Range, Report } from '@sluice-internal/compile/source';
import type { RawTeam } from './schema/sections.ts';

export interface Member {
  readonly name: string;
  readonly description: string;
  readonly def: AgentDef;
  readonly tools: readonly string[];
  /** True if the agent may choose its route with a `handoff` call. */
  readonly mayHandOff: boolean;
  /** True if one of its tools changes anything. */
  readonly writes: boolean;
  readonly callsMax: number;
  /** The filter of the shared history for this agent; null for all of it. */
  readonly view: Json;
  /** True if the agent runs elsewhere, so that its messages are data for the others. */
  readonly isRemote: boolean;
  /** True if the agent sees its handoff instead of the shared history. */
  readonly isFresh: boolean;
  /** Sources that replace the shared history; null if the agent sees the history. */
  readonly sources: Json;
}

export interface Team {
  readonly id: string;
  readonly raw: RawTeam;
  /** The type of the selection strategy. */
  readonly strategy: string;
  readonly members: ReadonlyMap<string, Member>;
  /** In the order of the document. */
  readonly names: readonly string[];
  /** The tools that members were granted. */
  readonly tools: { readonly [name: string]: ToolDef };
  readonly termination: Termination;
  /** Judges the message that ends the session. */
  readonly verifier: Verifier | null;
  readonly definitions: Definitions;
}

export interface Termination {
  readonly rules: readonly Rule[];
  /** The most agent turns; null if the document sets no cap. */
  readonly cap: number | null;
  /** False if part of it could not be read; then a missing end is not reported as well. */
  readonly sound: boolean;
}
/** A pattern whose match ends the session. */
export interface Rule {
  readonly pattern: string;
  /** Takes the place of the pattern: a condition on the JSON in the message. */
  readonly condition?: { readonly holds: Expr; readonly words: string };
  /** Null for all agents. */
  readonly agents: readonly string[] | null;
  readonly checks: readonly Check[];
}
/** A validator or contract that must pass, with its configuration. */
export interface Check {
  readonly name: string;
  /** The author's name for it. */
  readonly label: string;
  readonly config: Json;
}

export interface Reading {
  readonly body: Shaped<RawTeam>;
  readonly report: Report;
  readonly names: Names;
  readonly sections: SectionNames;
  /** Reads a file beside the document and returns null if the file is missing. Undefined if this host cannot read files. */
  readonly readText?: ((file: string) => string | null) | undefined;
  /** The deepest nesting of graphs that the document allows; null if it sets none. */
  readonly depthMax: number | null;
  at(...path: Path): Range;
  /** Reports a name that is not an agent's. */
  agent(name: string, path: Path): boolean;
  /** The same for each name of the list at the path. */
  agents(names: readonly string[] | undefined, path: Path): void;
  /** Warns of a key that is read and has no effect. */
  unused(path: Path, message: string, help: string): void;
  /** Warns of a setting of the source system that is not applied here. */
  unenforced(at: Range, message: string, help: string): void;
}
