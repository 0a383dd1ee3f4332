/** A proxy of TCP connections that a test cuts: closed at once, or kept open without passing a byte, as a network that loses packets. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export class Proxy {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #state: 'open' | 'closed' | 'silent' = 'open';

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async to(target: number): Promise<Proxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new Proxy(server, (server.address() as AddressInfo).port);
    server.on('connection', (from) => proxy.#join(from, target));
    return proxy;
  }

  /** Ends all connections, and refuses new ones. */
  cut(): void {
    this.#state = 'closed';
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  /** Loses everything that is sent from now on. New connections get no answer. */
  silence(): void {
    this.#state = 'silent';
    for (const [from, to] of this.#pairs) {
      from.unpipe(to);
      to.unpipe(from);
    }
  }

  /** Connections that were silenced are lost. */
  mend(): void {
    if (this.#state === 'silent') for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    this.#state = 'open';
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(from: Socket, target: number): void {
    from.on('error', () => undefined);
    if (this.#state === 'closed') return void from.destroy();
    const to = connect(target, '127.0.0.1');
    to.on('error', () => from.destroy());
    const pair = [from, to] as const;
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    from.on('close', end);
    to.on('close', end);
    if (this.#state === 'silent') return;
    from.pipe(to);
    to.pipe(from);
  }
}
