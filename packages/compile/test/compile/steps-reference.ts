/** The rules of the step notation, run directly and recursively: what the compiled flow must agree with. */
export interface PlainStep {
  readonly name: string;
  readonly agent_name?: string;
  readonly prompt: string;
  readonly mode: 'sequential' | 'fan_out' | 'collect' | 'conditional' | 'loop';
  readonly error_mode: 'fail' | 'skip' | 'retry';
  readonly max_retries?: number;
  readonly condition?: string;
  readonly until?: string;
  readonly max_iterations?: number;
  readonly output_var?: string;
}
/** Null is a failure. */
export type Say = (agent: string, prompt: string, attempt: number) => string | null;
export interface Came {
  readonly code: 'SUCCESS' | 'PARTIAL_SUCCESS' | 'UNAVAILABLE_DEP' | 'REPEATED_FAILURE' | 'VALIDATION_FAIL';
  readonly output: string | null;
  readonly path: readonly string[];
  readonly calls: readonly string[];
}

export function interpret(steps: readonly PlainStep[], given: string, say: Say): Came {
  const path: string[] = [];
  const calls: string[] = [];
  const variables = new Map<string, string>();
  let [input, from, partial]: [string, string | null, boolean] = [given, null, false];

  const fill = (text: string, current: string) =>
    text.replace(/\{\{([^{}]*)\}\}/g, (written, name: string) =>
      name.trim() === 'input' ? current : (variables.get(name.trim()) ?? written),
    );
  const has = (text: string, part = '') => text.toLowerCase().includes(part.toLowerCase());
  /** The output, or the code of the failure. */
  const call = (
    step: PlainStep,
    current: string,
    exempt = false,
  ): { readonly text: string } | { readonly code: Came['code'] } => {
    const agent = step.agent_name ?? '';
    if (!exempt && from === agent) return { code: 'VALIDATION_FAIL' };
    path.push(step.name);
    const attempts = step.error_mode === 'retry' ? 1 + (step.max_retries ?? 3) : 1;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const prompt = fill(step.prompt, current);
      calls.push(`${agent}: ${prompt}`);
      const text = say(agent, prompt, attempt);
      if (text !== null) return { text };
    }
    return { code: attempts > 1 ? 'REPEATED_FAILURE' : 'UNAVAILABLE_DEP' };
  };
  const ended = (code: Came['code']): Came => ({ code, output: code.endsWith('SUCCESS') ? input : null, path, calls });
  const passed = (step: PlainStep, code: Came['code']) => step.error_mode === 'skip' && code !== 'VALIDATION_FAIL';

  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] as PlainStep;
    if (step.mode === 'fan_out') {
      const end = steps.findIndex((each, index) => index > at && each.mode !== 'fan_out');
      const batch = steps.slice(at, end < 0 ? steps.length : end);
      const came = batch.map((branch) => ({ branch, result: call(branch, input) }));
      const lost = came.find(({ branch, result }) => 'code' in result && !passed(branch, result.code));
      if (lost !== undefined && 'code' in lost.result) return ended(lost.result.code);
      const kept = came.flatMap(({ branch, result }) => ('text' in result ? [{ branch, text: result.text }] : []));
      partial ||= kept.length < batch.length;
      for (const { branch, text } of kept) if (branch.output_var !== undefined) variables.set(branch.output_var, text);
      at += batch.length - 1;
      const next = steps[at + 1];
      if (next?.mode === 'collect') {
        at += 1;
        path.push(next.name);
        [input, from] = [kept.map(({ text }) => text).join('\n\n---\n\n'), null];
        if (next.output_var !== undefined) variables.set(next.output_var, input);
      } else if (kept.length > 0) [input, from] = [kept.at(-1)?.text ?? '', kept.at(-1)?.branch.agent_name ?? null];
      continue;
    }
    if (step.mode === 'conditional' && !has(input, step.condition)) continue;
    const rounds = step.mode === 'loop' ? (step.max_iterations ?? 5) : 1;
    let last: string | null = null;
    for (let round = 1; round <= rounds; round++) {
      const result = call(step, input, round > 1);
      if ('code' in result) {
        if (!passed(step, result.code)) return ended(result.code);
        partial = true;
        break;
      }
      [last, input, from] = [result.text, result.text, step.agent_name ?? null];
      if (step.mode === 'loop' && has(input, step.until)) break;
    }
    if (last !== null && step.output_var !== undefined) variables.set(step.output_var, last);
  }
  return ended(partial ? 'PARTIAL_SUCCESS' : 'SUCCESS');
}
