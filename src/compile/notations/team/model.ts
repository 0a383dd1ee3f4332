/** A team as it is after reading: names resolved, defaults settled, every agent with its tools and its view. */
import type { AgentDef, ToolDef } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import type { Names, SectionNames } from '../../document/names.ts';
import type { RawTeam } from './schema/schema.ts';

export interface Member {
  readonly name: string;
  readonly description: string;
  readonly def: AgentDef;
  readonly tools: readonly string[];
  /** Whether it can say by a tool call which way the work goes. */
  readonly hands: boolean;
  /** Whether it can change anything by its tools. */
  readonly writes: boolean;
  readonly callsMax: number;
  /** How the shared history is shown to it; null for all of it. */
  readonly view: Json;
  /** What it is given instead of the shared history; null where it sees that. */
  readonly sources: Json;
}

export interface Team {
  readonly id: string;
  readonly raw: RawTeam;
  readonly members: ReadonlyMap<string, Member>;
  /** In the order of the document. */
  readonly names: readonly string[];
  /** The tools that members were granted. */
  readonly tools: { readonly [name: string]: ToolDef };
  readonly termination: Termination;
  readonly definitions: Definitions;
}

/** When the session ends because of what was said, and after how many turns it ends in any case. */
export interface Termination {
  readonly rules: readonly Rule[];
  /** Agent turns; null where the document sets no cap. */
  readonly cap: number | null;
  /** Whether it could be read whole; what follows from a faulty one is no further mistake. */
  readonly sound: boolean;
}
export interface Rule {
  readonly pattern: string;
  /** Null for everybody. */
  readonly agents: readonly string[] | null;
  readonly checks: readonly Check[];
}
/** Evidence that must be there: the name of a check, and what it is told beside the observations. */
export interface Check {
  readonly name: string;
  /** As the author calls it. */
  readonly label: string;
  readonly config: Json;
}

/** What reading needs at every step. */
export interface Reading {
  readonly body: Shaped<RawTeam>;
  readonly report: Report;
  readonly names: Names;
  readonly sections: SectionNames;
  at(...path: Path): Range;
  /** The keys of a map as they are written: one counts as declared even where the rest of it is faulty. */
  keys(...path: Path): ReadonlySet<string>;
  /** Reports a name that no agent has. */
  agent(name: string, path: Path): boolean;
}
