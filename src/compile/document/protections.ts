/** The protections of a document with their defaults, and the checks of the section. */
import type { Report } from '../diagnose/diagnostics.ts';
import type { Shaped } from './shape/shape.ts';
import type { RawProtections } from './schema/protections.ts';
import type { Sections } from './schema/schema.ts';

/** The rules of the loop detector. */
export interface LoopRules {
  readonly window: number;
  readonly identical: number;
  readonly cycle: number;
  readonly failures: number;
  readonly ignore: readonly string[];
  readonly onTrip: 'correct' | 'end' | 'escalate';
}

export interface Protections {
  /** Null if it is switched off. */
  readonly loop: LoopRules | null;
}

const LOOP: LoopRules = { window: 5, identical: 3, cycle: 4, failures: 4, ignore: [], onTrip: 'correct' };

export function protectionsOf(raw: RawProtections | undefined): Protections {
  if (raw?.loop === false) return { loop: null };
  const { on_trip: onTrip, ...rules } = raw?.loop ?? {};
  return { loop: { ...LOOP, ...defined(rules), ...(onTrip === undefined ? {} : { onTrip }) } };
}

type Key = keyof RawProtections;

/** Protections that this release reads but does not enforce. */
const UNENFORCED: readonly Key[] = ['hops', 'depth', 'spawn', 'breaker', 'retry_budget', 'velocity', 'deadlock'];

export function checkProtections(sections: Shaped<Sections>, report: Report): void {
  const raw = sections.value.protections;
  if (raw === undefined) return;
  for (const key of UNENFORCED)
    if (raw[key] !== undefined)
      report.warning(
        'not-enforced',
        sections.at('protections', key),
        `\`protections.${key}\` is checked but not enforced by this release`,
        { help: 'Do not rely on it for safety yet.' },
      );
  if (raw.loop === false)
    report.warning(
      'protection-off',
      sections.at('protections', 'loop'),
      'the loop detector is off: an agent that repeats a call stops only when a budget is used up',
      { help: 'Remove `loop: false`, or set a smaller `budgets.tool_calls`.' },
    );
  const { loop } = protectionsOf(raw);
  if (loop !== null && loop.identical > loop.window)
    report.error(
      'bad-value',
      sections.at(
        'protections',
        'loop',
        typeof raw.loop === 'object' && raw.loop.identical !== undefined ? 'identical' : 'window',
      ),
      `the last ${loop.window} calls cannot contain ${loop.identical} identical ones`,
      { help: `Set \`identical\` to at most ${loop.window}, or \`window\` to at least ${loop.identical}.` },
    );
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;
}
