/**
 * What a JSON Schema requires is among the properties that it lists. JSON Schema allows more, so that this is a warning: a
 * value that nobody described is asked for, which mostly is a misspelt name.
 */
import type { Report } from '../diagnose/diagnostics.ts';
import { childOf, itemsOf, textOf, type Located, type LocatedMap } from '../source/located.ts';
import { nearest } from '../diagnose/nearest.ts';

export function checkRequired(schema: Located | undefined, report: Report): void {
  if (schema?.kind !== 'map') return;
  const properties = childOf(schema, 'properties');
  if (properties?.kind === 'map') {
    const names = [...properties.entries.keys()];
    for (const item of itemsOf(childOf(schema, 'required'))) {
      const name = textOf(item);
      if (name === undefined || properties.entries.has(name)) continue;
      const near = nearest(name, names);
      if (near === undefined && isOpen(schema)) continue;
      report.warning('bad-schema', item, `\`required\` names \`${name}\`, which is not among the \`properties\``, {
        help: near === undefined ? 'Describe it under `properties`, or remove it.' : `Did you mean \`${near}\`?`,
      });
    }
  }
  for (const inner of innerOf(schema)) checkRequired(inner, report);
}

/** Keywords by which a value may have properties that are described elsewhere, or nowhere. */
const ELSEWHERE = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas'];

function isOpen(schema: LocatedMap): boolean {
  const more = childOf(schema, 'additionalProperties');
  const closed = more === undefined || (more.kind === 'scalar' && more.value === false);
  return !closed || ELSEWHERE.some((key) => schema.entries.has(key));
}

/** Only what describes a value of its own: the branches of `anyOf` and the like speak of the same value. */
function innerOf(schema: LocatedMap): readonly Located[] {
  const maps = ['properties', '$defs', 'patternProperties'].flatMap((key) => {
    const map = childOf(schema, key);
    return map?.kind === 'map' ? [...map.entries.values()].map(({ value }) => value) : [];
  });
  const single = ['items', 'additionalProperties'].flatMap((key) => childOf(schema, key) ?? []);
  return [...maps, ...single, ...itemsOf(childOf(schema, 'prefixItems'))];
}
