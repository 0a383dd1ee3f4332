/** The messages of a model call, exactly as the provider was sent them. */
import { inputOf } from '@sluice-internal/kernel/core';
import type { Program } from '@sluice-internal/kernel/core';
import type { Pending, RunState } from '@sluice-internal/kernel/ir';
import { sentMessages, type FileOptions, type SentMessage } from '@sluice-internal/models';

export { storedFiles } from '@sluice-internal/models';

/** `state` is the run right after the call was requested. */
export function promptOf(
  program: Program,
  state: RunState,
  pending: Pending,
  files: Pick<FileOptions, 'stored' | 'erased'>,
): readonly SentMessage[] {
  const expected = state.origin.pins?.attachments ?? [];
  const input = inputOf(program, state, pending);
  return sentMessages(program.flow, { name: pending.name, input }, { ...files, expected });
}
