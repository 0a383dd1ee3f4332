/** What an agent says that is so is not lowered, whatever its words. */
import { hold } from './cases.ts';
import { expectScreen } from './command.ts';
import { judge } from './judge.ts';
import type { Expected } from './judge.ts';
import { play } from './play.ts';

hold<Expected>('an honest run', 'honest.yaml', async (each) => {
  judge(each, await play(each));
  await expectScreen(each);
});
