/** Effect classes: how a tool call changes the world. `egress` reads, but its arguments leave the machine. */
export const EFFECT_CLASSES = ['read', 'egress', 'write', 'financial', 'communication', 'infrastructure'] as const;
export type EffectClass = (typeof EFFECT_CLASSES)[number];

/** Classes of calls that need the approval of a person. */
export const RISKY: ReadonlySet<string> = new Set<EffectClass>(['financial', 'communication', 'infrastructure']);

/** True if a call of the tool changes something. A tool without a definition counts as one that does. */
export function hasEffects(
  { tools }: { readonly tools: { readonly [name: string]: { readonly effect: EffectClass } } },
  tool: string,
): boolean {
  return !onlyReads(Object.hasOwn(tools, tool) ? tools[tool]?.effect : undefined);
}

/** True if a call of this class changes nothing. */
export function onlyReads(effect: EffectClass | undefined): boolean {
  return effect === 'read' || effect === 'egress';
}

/** The resource of all tools that read or change files of the run. */
export const WORK_DIR = 'work_dir';

/** True if an agent may not repeat a call of the tool without a person. Work in the run's own folder is never asked about for this. */
export function asksAboutRepeats({
  effect,
  repeatable,
  resource,
  category,
}: {
  readonly effect: EffectClass;
  readonly repeatable?: boolean;
  readonly resource?: string;
  readonly category?: string;
}): boolean {
  if (resource === WORK_DIR || category === 'file_system' || category === 'sandbox') return false;
  return repeatable === undefined ? RISKY.has(effect) : !repeatable;
}
