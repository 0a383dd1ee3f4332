/** The sections `notify` and `review_queue` as the engine needs them. */
import { present } from '../../expr/present.ts';
import type { FlowBody } from '../../ir/nodes.ts';
import type { NotifyHook } from '../../ir/people.ts';
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
