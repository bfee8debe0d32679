/**
 * For the histories: things that are not a syncer's and stand where its copy was, put there between
 * its look and its delete. They must survive.
 */
import type { FaultyServer, widgets } from "./faulty-server.ts";

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

export class ForeignObjects {
  readonly #checks: (() => Promise<string | undefined>)[] = [];

  async replace(
    faultyServer: FaultyServer,
    resource: typeof widgets,
    at: NamespacedName,
  ): Promise<void> {
    const client = faultyServer.client.resource(resource);
    await client.delete(at);
    await client.create({ metadata: { ...at, annotations: { theirs: "yes" } } });
    this.#checks.push(async () => {
      const found = await client.find(at);
      if (found?.metadata.annotations?.["theirs"] !== "yes") {
        return `${at.namespace}/${at.name} was deleted or changed, and is not ours`;
      }
      await client.delete(at);
      return undefined;
    });
  }

  /** What did not survive. The others are taken away. */
  async check(): Promise<string[]> {
    const found: string[] = [];
    for (const check of this.#checks.splice(0)) {
      const wrong = await check();
      if (wrong !== undefined) found.push(wrong);
    }
    return found;
  }
}
