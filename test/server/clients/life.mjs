// The life of a refund with `sluice/client`, in whatever runtime has this file: nothing but the client is imported or called.
/** @param {{ connect: Function, SluiceError: Function, foldEvents: Function, startOfView: Function, url: string, token: string, key: string }} given */
export async function lifeOfARefund({ connect, SluiceError, foldEvents, startOfView, url, token, key }) {
  const sluice = connect(url, { token: async () => token });
  const run = await sluice.flow('refunds').start({ message: 'money back' }, { key, script: 'refunds' });
  const events = [];
  for await (const event of run.events({ text: true })) {
    if (event.type === 'model.text') continue;
    events.push(event);
    if (event.type !== 'question.asked') continue;
    const question = await sluice.question(event.question);
    await question.answer('approve', { text: 'checked' });
  }
  const { output, receipts } = await run.result();
  const { nodes } = await run.state();
  const folded = foldEvents(events, startOfView(Object.keys(nodes))).nodes;
  const rows = [];
  for await (const row of sluice.runs({ status: ['completed'], since: '1d' })) rows.push(row.run);
  const late = await run
    .cancel('changed his mind')
    .catch((error) => [error instanceof SluiceError, error.code, error.status]);
  const stop = new AbortController();
  const stream = sluice.stream(['runs', 'questions'], () => undefined, { signal: stop.signal });
  stop.abort();
  await stream;
  return {
    ...{ output, late, listed: rows.includes(run.id), paid: receipts.map(({ tool, status }) => [tool, status]) },
    ...{
      twice: events.length - new Set(events.map(({ id }) => id)).size,
      same: JSON.stringify(folded) === JSON.stringify(nodes),
    },
  };
}
