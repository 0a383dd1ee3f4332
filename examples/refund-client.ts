/**
 * Starts a refund on a server, approves it and prints what was paid.
 *
 *   npx sluice serve examples
 *   SLUICE_TOKEN=$(cat .sluice/serve-4747.token) node examples/refund-client.ts
 */
import { connect } from 'sluice/client';

const { SLUICE_TOKEN: token = '', SLUICE_URL: url = 'http://127.0.0.1:4747' } = process.env;
const sluice = connect(url, { token });
const run = await sluice
  .flow('support_refund')
  .start({ message: 'The kettle of order A-1042 leaks. I want my $49.50 back.' }, { script: 'refund-served' });
for await (const event of run.events()) {
  console.log(event.type);
  if (event.type !== 'question.asked') continue;
  const question = await sluice.question(event.question);
  console.log(question.message);
  await question.answer('approve', { text: 'checked' });
}
const { output } = await run.result();
console.log(output);
