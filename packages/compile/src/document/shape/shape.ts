/**
 * Reads located data by a schema. Every mistake becomes one diagnostic at its own place. Faulty parts are then taken out, so
 * that the rest can still be read and checked.
 */
import type * as z from 'zod';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Report } from '../../source/diagnostics.ts';
import type { Located, Path } from '../../source/located.ts';
import type { Range } from '../../source/range.ts';
import { faultsOf, noteKnownKeys, type Fault } from './faults.ts';
import { Salvage } from './salvage.ts';

/** The places in a value. Every path starts at that value. */
export interface Places {
  /** The place of the value at a path. If the value is missing: the place of the map or list around it. */
  at(...path: Path): Range;
  /** The place of the key of the value at a path. */
  key(...path: Path): Range;
  /** The located value itself, for example to find a range within an expression. */
  located(...path: Path): Located | undefined;
  /** True where a value was written at the path, perhaps under a misspelt key, and could not be read. */
  poisoned(...path: Path): boolean;
  /** True where something directly inside the map or list at the path could not be read. */
  damaged(...path: Path): boolean;
  /** The places in the value at a path. */
  under(...path: Path): Places;
}

export interface Shaped<Value> extends Places {
  readonly value: Value;
  /** False where `value` lacks parts that were faulty. */
  readonly sound: boolean;
}

export interface ShapeOptions {
  /** The name of the whole in messages. Default: `this document`. */
  readonly what?: string;
  /** Further names to suggest for an unknown key of the whole. */
  readonly alsoKnown?: Iterable<string>;
  /** Poison for a required value that is missing or faulty, so that the map around it can still be checked. */
  readonly poison?: (path: Path) => Json | undefined;
}

const ROUNDS_MAX = 16;

/** Null where so much is wrong that nothing is left. The diagnostics are in the report either way. */
export function readShape<Schema extends z.ZodType>(
  schema: Schema,
  located: Located,
  report: Report,
  options: ShapeOptions = {},
): Shaped<z.output<Schema>> | null {
  const salvage = new Salvage(located);
  const context = { what: options.what ?? 'this document', alsoKnown: [...(options.alsoKnown ?? [])] };
  for (let round = 0; round < ROUNDS_MAX; round++) {
    // Compiled parsers pay off only after many documents.
    const result = schema.safeParse(salvage.plain(), { error: noteKnownKeys, jitless: true });
    if (result.success) return { value: result.data, sound: salvage.whole(), ...placesIn(salvage, []) };
    const faults = faultsOf(result.error.issues, salvage, context);
    for (const { code, message, help, path, on, follows } of faults)
      if (!follows) report.error(code, on === 'key' ? salvage.keyAt(path) : salvage.at(path), message, { help });
    for (const { path, meant, near } of faults) {
      if (near !== undefined) salvage.resembles(path, near);
      if (meant !== undefined) salvage.rename(path, meant);
    }
    const fatal = faults.filter((fault) => !fault.mended && !isReplaced(fault, salvage, options));
    if (!salvage.remove(fatal.map((fault) => fault.path))) return null;
    for (const fault of fatal) if (fault.code === 'bad-schema') loosen(fault.path, salvage);
  }
  return null;
}

function isReplaced({ code, path }: Fault, salvage: Salvage, { poison }: ShapeOptions): boolean {
  const value = code === 'missing-field' ? poison?.(path) : undefined;
  return value !== undefined && salvage.give(path, value);
}

/** A JSON Schema without its faulty part must accept everything that the part might have allowed. */
function loosen(path: Path, salvage: Salvage): void {
  const isProperty = path.at(-2) === 'properties';
  salvage.give(isProperty ? path : [...path.slice(0, -1), 'additionalProperties'], true);
}

function placesIn(salvage: Salvage, base: Path): Places {
  return {
    at: (...path) => salvage.at([...base, ...path]),
    key: (...path) => salvage.keyAt([...base, ...path]),
    located: (...path) => {
      const { node, missing } = salvage.find([...base, ...path]);
      return missing === 0 ? node : undefined;
    },
    poisoned: (...path) => salvage.poisoned([...base, ...path]),
    damaged: (...path) => salvage.damaged([...base, ...path]),
    under: (...path) => placesIn(salvage, [...base, ...path]),
  };
}
