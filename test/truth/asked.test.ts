/** Before which calls a person is asked. */
import { hold } from './cases.ts';
import { expectChecked, isChecked } from './command.ts';
import type { Checked } from './command.ts';
import { judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

hold<Expected & Checked>('a question before a call', 'asked.yaml', async (each) => {
  if (isChecked(each.expect)) return expectChecked(each);
  judge(each, await play(each));
});
