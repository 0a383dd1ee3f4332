/** Where money is limited, every model that may be called has a price: what cannot be counted cannot be bounded (L4). */
import type { FlowBody, Node } from '../../ir/nodes.ts';
import { DEFAULT_MODEL } from '../../ir/price.ts';
import type { Lowered } from '../lower/builder.ts';
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from './document.ts';
import { START } from '../source/range.ts';
import type { Range } from '../source/range.ts';

export function checkPrices({ body, places }: Lowered, { sections }: ReadDocument, report: Report): void {
  const told = new Set<string>();
  for (const [id, node] of Object.entries<Node>(body.nodes)) {
    const limit = moneyLimit(body, node);
    if (limit === undefined || node.op !== 'do' || node.effect.kind !== 'model') continue;
    const { agent, fallback = [] } = node.effect;
    for (const alias of [body.agents[agent]?.model ?? DEFAULT_MODEL, ...fallback]) {
      const model = body.models[alias] as
        | { readonly provider: string; readonly model: string; readonly price?: unknown }
        | undefined;
      // A model that nobody named yet is named, and priced, when a run is started on it.
      if (model === undefined || model.price !== undefined || told.has(alias)) continue;
      told.add(alias);
      const declared = sections.value.models?.[alias] !== undefined;
      const at: Range = declared ? sections.at('models', alias) : (places.get(id) ?? START);
      const called = declared ? alias : `${model.provider}/${model.model}`;
      report.error(
        'missing-price',
        at,
        `\`${limit}\` limits money, but the price of model \`${called}\` is not known`,
        { help: help(declared ? alias : null, model) },
      );
    }
  }
}

function moneyLimit({ meters }: FlowBody, { charges = [] }: Node): string | undefined {
  const id = charges.find((each) => meters[each]?.unit === 'costMicros' && meters[each].max !== null);
  return id === undefined ? undefined : meters[id]?.label;
}

function help(
  alias: string | null,
  { provider, model }: { readonly provider: string; readonly model: string },
): string {
  const price = 'price: { input: 0.5, output: 1.5 }';
  const where = 'in US dollars per million tokens; zero is a price too.';
  if (alias !== null) return `Add \`${price}\` to \`models.${alias}\`, ${where}`;
  return `Declare it under \`models\`, as in \`own: { provider: ${provider}, model: "${model}", ${price} }\`, ${where}`;
}
