/** The connections of a shard to the other shards: one to each, opened on use. */
import type { ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type StatusError, statusError } from "@kcp-ts/machinery/status";
import { LinkClient, LinkEndedError, type LinkRequest, type LinkResponse } from "./link-client.ts";
import type {
  ShardConnections,
  ShardNetwork,
  ShardRequest,
  ShardRoute,
} from "./shard-connections.ts";
import { shardUser } from "./shard-connections.ts";

export interface ShardMeshOptions {
  readonly ownName: string;
  readonly network: ShardNetwork;
  readonly onError: (error: unknown, shard: string) => void;
  /** Called when another shard says where the logical cluster of a request is now. */
  readonly onMoved: (cluster: ClusterName, route: ShardRoute) => void;
}

export class ShardMesh implements ShardConnections {
  readonly #options: ShardMeshOptions;
  readonly #links = new Map<string, Promise<LinkClient> | LinkClient>();
  #isClosed = false;

  constructor(options: ShardMeshOptions) {
    this.#options = options;
  }

  names(): readonly string[] {
    return this.#options.network.names();
  }

  has(shard: string): boolean {
    return this.names().includes(shard);
  }

  async request(shard: string, request: ShardRequest): Promise<ApiResponse> {
    const { method, target, headers = {}, body, signal } = request;
    const user = request.user ?? shardUser(this.#options.ownName);
    const sent: Record<string, string> = { accept: "application/json", ...headers };
    if (body !== undefined) sent["content-type"] ??= "application/json";
    const answer = await this.send(shard, {
      method,
      target,
      headersText: JSON.stringify(sent),
      senderText: JSON.stringify({ remoteAddress: "", user }),
      hops: 0,
      isOfShard: true,
      readBody: body === undefined ? undefined : async () => body,
      onClose:
        signal === undefined
          ? undefined
          : (callback) => {
              if (signal.aborted) callback();
              else signal.addEventListener("abort", callback, { once: true });
            },
    });
    if (answer === "unknown" || answer === "not-sent") throw unavailable(shard);
    if ("movedTo" in answer) {
      const [, , cluster] = target.split("/", 3);
      this.#options.onMoved(cluster as ClusterName, answer.movedTo);
      throw statusError.unavailable(`it is on ${answer.movedTo.shard} now`);
    }
    return answer;
  }

  /** Throws a 503 that names the shard when it does not answer. */
  send(shard: string, request: LinkRequest): Promise<LinkResponse> {
    const link = this.#links.get(shard);
    if (link instanceof LinkClient && !link.isOver)
      return link.request(request).catch((error: unknown) => this.#failed(shard, error));
    return this.#sendOnNew(shard, request);
  }

  close(): void {
    this.#isClosed = true;
    for (const link of this.#links.values())
      if (link instanceof LinkClient) link.close();
      else
        link.then(
          (opened) => opened.close(),
          () => {},
        );
  }

  async #sendOnNew(shard: string, request: LinkRequest): Promise<LinkResponse> {
    try {
      const link = await this.#linkTo(shard);
      return await link.request(request);
    } catch (error) {
      return this.#failed(shard, error);
    }
  }

  #failed(shard: string, error: unknown): never {
    // What the reading of a body has thrown is the client's.
    if (!(error instanceof LinkEndedError) && !isOfSystem(error)) throw error;
    this.#options.onError(error, shard);
    throw unavailable(shard);
  }

  #linkTo(shard: string): Promise<LinkClient> | LinkClient {
    const known = this.#links.get(shard);
    if (known !== undefined && !(known instanceof LinkClient && known.isOver)) return known;
    const opening = this.#open(shard);
    this.#links.set(shard, opening);
    opening.catch(() => this.#links.delete(shard));
    return opening;
  }

  async #open(shard: string): Promise<LinkClient> {
    if (this.#isClosed) throw new LinkEndedError("this shard stops");
    const connection = await this.#options.network.connect(shard);
    const link: LinkClient = new LinkClient(connection, () => {
      if (this.#links.get(shard) === link) this.#links.delete(shard);
    });
    this.#links.set(shard, link);
    return link;
  }
}

export function unavailable(shard: string): StatusError {
  return statusError.unavailable(`the shard ${shard} does not answer`);
}

/** An error of a socket, or of what connects. */
function isOfSystem(error: unknown): boolean {
  return typeof (error as { code?: unknown }).code === "string";
}
