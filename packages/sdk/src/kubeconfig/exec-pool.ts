/**
 * Plugins with the same settings share their credentials: a fleet of a hundred clusters behind one login runs one command, and asks
 * its user once.
 */
import { ExecCredentials, type ExecOptions } from "./exec-credentials.ts";

/** Used longest ago goes first; going only means that the plugin is run again. */
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

/** For the whole process, unless a connection brings its own. */
export const sharedExecPool = new ExecPool();
