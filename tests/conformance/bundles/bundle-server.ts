/** One server to which bundles are applied: finds the resource of each kind, and sends. */
import { eventually } from "@kcp-ts/testkit";
import {
  type CorpusResponse,
  established,
  isNotFound,
  normalize,
  Sender,
  type Target,
  valueAt,
} from "../side-by-side/index.ts";
import type { BundleObject } from "./bundle.ts";

/** A machine may be slow: how long something takes decides no test. */
export const settling = { timeoutMs: 400_000, intervalMs: 200 };

/** Texts like `${HOME}` in a bundle are meant as they are. */
class OwnWords extends Map<string, string> {
  override get(word: string): string {
    return `\${${word}}`;
  }
}

const ownWords: ReadonlyMap<string, string> = new OwnWords();

export class BundleServer {
  readonly #sender: Sender;

  constructor(target: Target) {
    this.#sender = new Sender(target);
  }

  close(): void {
    this.#sender.close();
  }

  /** What the server answers to the create of an object, as it is compared. */
  async create(object: BundleObject): Promise<CorpusResponse> {
    const collection = await this.#collectionOf(object);
    if (collection === undefined) return { status: 404, headers: {}, body: "no such kind" };
    const answer = await this.#send("POST", collection, object);
    if (answer.status === 201 && object.kind === "CustomResourceDefinition")
      await eventually(async () => {
        if (!established(await this.#send("GET", `${collection}/${object.metadata.name}`)))
          throw new Error(`${object.metadata.name} is not established`);
      }, settling);
    return normalize({ ...answer, headers: {} });
  }

  async read(object: BundleObject): Promise<CorpusResponse> {
    const collection = await this.#collectionOf(object);
    if (collection === undefined) return { status: 404, headers: {}, body: undefined };
    return await this.#send("GET", `${collection}/${object.metadata.name}`);
  }

  /** Resolves when the object is gone. */
  async remove(object: BundleObject): Promise<void> {
    const collection = await this.#collectionOf(object);
    if (collection === undefined) return;
    await this.#send("DELETE", `${collection}/${object.metadata.name}`, {
      propagationPolicy: "Background",
    });
    if (object.kind === "Namespace") return;
    await eventually(async () => {
      const left = await this.read(object);
      if (!isNotFound(left))
        throw new Error(`${object.kind} ${object.metadata.name}: ${JSON.stringify(left.body)}`);
    }, settling);
  }

  /** Undefined when the server does not serve the kind. */
  async #collectionOf({ apiVersion, kind, metadata }: BundleObject): Promise<string | undefined> {
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { body } = await this.#send("GET", root);
    const resources = (valueAt(body, "resources") ?? []) as readonly {
      readonly name: string;
      readonly kind: string;
      readonly namespaced: boolean;
    }[];
    const found = resources.find((one) => one.kind === kind && !one.name.includes("/"));
    if (found === undefined) return undefined;
    const { namespace = "default" } = metadata;
    return `${root}/${found.namespaced ? `namespaces/${namespace}/` : ""}${found.name}`;
  }

  #send(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<CorpusResponse> {
    const rest = body === undefined ? {} : { body };
    return this.#sender.send({ name: `${method} ${path}`, method, path, ...rest }, ownWords);
  }
}
