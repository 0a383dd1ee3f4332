/**
 * The typed builder of a bounded loop. It returns the same document as YAML. An unknown agent is a type error, and so is a
 * planner without an executor.
 */
import type { FlowSections } from '../flow/builder/builder.ts';
import type { Ids, NamedAgent, NamedTools } from '../builder-types/sections.ts';

type Roles<Id> =
  | { readonly agent: Id; readonly planner?: undefined; readonly executor?: undefined }
  | { readonly agent?: undefined; readonly planner?: Id; readonly executor: Id };

export interface LoopFields<Id> {
  readonly id?: string;
  readonly description?: string;
  readonly goal?: string;
  readonly criteria?: readonly (string | { readonly when: string; readonly reason: string })[];
  readonly profile?: 'research' | 'coding' | 'support' | 'procurement' | 'sre';
  readonly requires?: readonly string[];
  readonly intents?: readonly { readonly id: string; readonly when: string; readonly description?: string }[];
  readonly guards?: readonly {
    readonly when: string;
    readonly code?: 'UNSAFE_DETECTION' | 'PERMISSION_DENIED' | 'IMPOSSIBLE';
    readonly reason: string;
  }[];
  readonly plan?: { readonly max_steps?: number; readonly repairs?: number; readonly approve?: boolean };
  readonly validate?: readonly { readonly when: string; readonly reason: string }[];
  readonly verifier?: Id;
  readonly confidence?: number;
  readonly conflict?: string;
  readonly review?: boolean;
  readonly reflection?: { readonly repairs?: number; readonly confidence?: number; readonly conflict?: number };
  readonly grounding?: {
    readonly cite?: 'optional' | 'required';
    readonly claims?: boolean;
    readonly values?: 'off' | 'names' | 'all' | 'bound';
    readonly on_violation?: 'mark' | 'repair' | 'halt' | 'escalate';
  };
  readonly compression?: { readonly at?: number; readonly window?: number };
  readonly escalation?: {
    readonly people?: boolean;
    readonly timeout?: number;
    readonly safer?: Id;
    readonly expansions?: number;
  };
  readonly breaker?: { readonly identical?: number; readonly window?: number };
  readonly memory?:
    | boolean
    | {
        readonly recall?: number;
        readonly expires?: string;
        readonly quarantine?: 'untrusted' | 'all' | 'off';
        readonly validate?: readonly { readonly when: string; readonly reason: string }[];
        readonly share?: string | { readonly name: string; readonly users?: 'own' | 'all' };
      };
  readonly rates?: { readonly tool_call?: number; readonly external_call?: number; readonly review?: number };
}

export interface LoopDocument extends FlowSections<readonly NamedAgent[], NamedTools> {
  readonly loop: LoopFields<string> & Roles<string>;
}

export function loop<const Agents extends readonly NamedAgent[], const Given extends NamedTools = NamedTools>(
  definition: LoopFields<Ids<Agents>> & Roles<Ids<Agents>>,
  sections: FlowSections<Agents, Given> = {},
): LoopDocument {
  return { ...sections, loop: definition };
}
