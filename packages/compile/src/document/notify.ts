/** The sections `notify` and `review_queue` as the engine needs them. */
import { present } from '@sluice-internal/kernel/expr';
import type { FlowBody, NotifyHook } from '@sluice-internal/kernel/ir';
import type { Sections } from './schema/schema.ts';

export type Review = Pick<FlowBody, 'notify' | 'reviewQueue'>;

export function reviewOf({ notify, review_queue: queue }: Sections): Review {
  return present({
    notify: notify?.map(hookOf),
    reviewQueue: queue && present({ open: queue.open, ageMs: queue.age && Math.ceil(queue.age * 1000) }),
  });
}

function hookOf({
  webhook,
  secret_env: secretEnv = '',
  command = [],
}: NonNullable<Sections['notify']>[number]): NotifyHook {
  return webhook === undefined ? { command } : { webhook, secretEnv };
}
