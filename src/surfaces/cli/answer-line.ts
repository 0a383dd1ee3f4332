/** The commands that answer a question, one for each choice, ready to be pasted: each with the content that its choice needs. */
import type { Json } from '../../expr/json.ts';
import type { Waiting } from '../../runtime/engine/types.ts';
import { harmless, shellWord } from './text.ts';

/** `flags` are the options that the command needs again. */
export function answerLines({ id, choices, code, payload }: Waiting, flags: string): readonly string[] {
  return choices.map((choice) => {
    const content = choice === 'edit' ? edited(payload) : choice === 'respond' ? said(code, payload) : '';
    return harmless(`sluice answer ${id} ${shellWord(choice)}${content}${flags}`);
  });
}

/** Who changes a call or a plan says into what, and starts from what was proposed. */
function edited(payload: Json): string {
  const { tool, args, plan } = fieldsOf(payload);
  const proposed = tool === undefined ? plan : (args ?? {});
  return proposed === undefined ? '' : ` --edit ${shellWord(JSON.stringify(proposed))}`;
}

/** What an author calls a choice is a word like any other; whoever asks for words needs some. */
function said(code: Waiting['code'], payload: Json): string {
  const { tool, plan } = fieldsOf(payload);
  return tool === undefined && plan === undefined && code === 'CONFIRM_REQUIRED' ? '' : ' --text "…"';
}

function fieldsOf(payload: Json): { readonly [field: string]: Json | undefined } {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
}
