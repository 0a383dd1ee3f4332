/** The messages of a model call as the provider gets them: with its names of the tools, and with the files beside the text. */
import { attachmentIds } from '@sluice-internal/kernel/ir';
import type { Command, CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import type { AttachmentStore } from '@sluice-internal/engine/ports';
import { promptOf } from '@sluice-internal/platform';
import type { Message } from '@sluice-internal/platform';
import { offerTools } from './tool-names.ts';

/** A file beside the text of a message. A file of the input that was deleted has no type. */
interface SentFile {
  readonly attachment: string;
  readonly state: 'stored' | 'erased' | 'missing';
  readonly name?: string;
  readonly mediaType?: string;
  readonly bytes?: number;
}
export interface SentMessage extends Message {
  readonly files?: readonly SentFile[];
}

export interface FileOptions {
  readonly run: RunId;
  readonly store: Pick<AttachmentStore, 'find'>;
  /** The attachments that came with the input. */
  readonly expected: readonly string[];
  readonly erased: boolean;
}

export function sentMessages(
  flow: CompiledFlow,
  command: Pick<Command, 'name' | 'input'>,
  { run, store, expected, erased }: FileOptions,
): SentMessage[] {
  const agent = flow.agents[command.name];
  const offer = agent === undefined ? undefined : offerTools(flow, agent);
  const seen = new Set<string>();
  const filesIn = (text: string): SentFile[] =>
    attachmentIds(text).flatMap((attachment): SentFile[] => {
      if (seen.has(attachment)) return [];
      seen.add(attachment);
      const found = store.find(run, attachment);
      if (found === null)
        return expected.includes(attachment) ? [{ attachment, state: erased ? 'erased' : 'missing' }] : [];
      const { name, mediaType, data } = found;
      return [{ attachment, state: 'stored', name, mediaType, bytes: data.length }];
    });
  return promptOf(flow, command).map((message) => {
    const { role, content, toolCalls, name } = message;
    const files = role === 'user' || role === 'tool' ? filesIn(content) : [];
    return {
      ...message,
      content: role === 'assistant' || offer === undefined ? content : offer.renamed(role, content),
      ...(toolCalls === undefined || offer === undefined
        ? {}
        : { toolCalls: toolCalls.map((call) => ({ ...call, name: offer.sent(call.name) })) }),
      ...(name === undefined || offer === undefined ? {} : { name: offer.sent(name) }),
      ...(files.length === 0 ? {} : { files }),
    };
  });
}
