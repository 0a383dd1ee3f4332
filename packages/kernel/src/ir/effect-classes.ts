/** Effect classes: how a tool call changes the world. `egress` reads, but its arguments leave the machine. */
export const EFFECT_CLASSES = ['read', 'egress', 'write', 'financial', 'communication', 'infrastructure'] as const;
export type EffectClass = (typeof EFFECT_CLASSES)[number];

/** What a call of a class passes. A cell is a control, or says when a person is asked. */
export interface ClassControls {
  /** The sources of the arguments are traced. */
  readonly traced: boolean;
  /** Arguments that may carry results of a confidential tool need approval. */
  readonly confidential: boolean;
  /** A call that an agent chooses needs approval, where the document grants nothing else. `risky`: in teams too. */
  readonly approval: 'no' | 'yes' | 'risky';
  /** An equal call of the run that was made, or may have been made, needs approval. A tool can say otherwise (`repeatable`). */
  readonly repeat: boolean;
  /** An address that text from outside brought in needs approval, under a profile. */
  readonly egress: boolean;
}

/** The one table of effect classes and controls. Each cell has a test (`packages/guard/test/policy/effect-table.test.ts`). */
export const CLASS_CONTROLS: { readonly [effect in EffectClass]: ClassControls } = {
  read: { traced: false, confidential: false, approval: 'no', repeat: false, egress: false },
  egress: { traced: false, confidential: true, approval: 'no', repeat: false, egress: true },
  write: { traced: true, confidential: true, approval: 'yes', repeat: false, egress: false },
  financial: { traced: true, confidential: true, approval: 'risky', repeat: true, egress: false },
  communication: { traced: true, confidential: true, approval: 'risky', repeat: true, egress: false },
  infrastructure: { traced: true, confidential: true, approval: 'risky', repeat: true, egress: false },
};

/** Classes of calls that need the approval of a person. */
export const RISKY: ReadonlySet<string> = new Set(
  EFFECT_CLASSES.filter((each) => CLASS_CONTROLS[each].approval === 'risky'),
);

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
  return repeatable === undefined ? CLASS_CONTROLS[effect].repeat : !repeatable;
}
