/**
 * Plugins with the same settings share their credentials: a hundred clusters with one login run one
 * command, and prompt the user once.
 */
import { ExecCredentials, type ExecOptions } from "./exec-credentials.ts";

/** The least recently used plugin is evicted, and runs again when it is needed. */
const credentialsMax = 256;

export class ExecPool {
  readonly #credentials = new Map<string, ExecCredentials>();

  get(options: ExecOptions): ExecCredentials {
    const { exec, cluster, hasTerminal } = options;
    const id = JSON.stringify([exec, exec.provideClusterInfo ? cluster : undefined, hasTerminal]);
    const credentials = this.#credentials.get(id) ?? new ExecCredentials(options);
    this.#credentials.delete(id);
    this.#credentials.set(id, credentials);
    if (this.#credentials.size > credentialsMax) {
      this.#credentials.delete(this.#credentials.keys().next().value as string);
    }
    return credentials;
  }
}

/** One pool for the process, unless a connection has its own. */
export const sharedExecPool = new ExecPool();
