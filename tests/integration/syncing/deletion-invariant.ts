/**
 * The law of the histories about deletions: what a syncer deletes in a cluster is a copy whose
 * original the control plane, asked by this syncer right before, said to be gone, going, another
 * one, or not assigned to the cluster.
 *
 * "Right before" is exact: the answer is the last that the syncer got about the object from the
 * control plane, and serves for one delete. It is not "at the moment of the delete": no protocol
 * without a common lock over both servers can promise that nobody changes his mind between the
 * answer and the delete. A change of mind in between is seen by the watch, and the copy is made
 * again, which every history checks at its end. Spec 22.3 asks for the same: a live answer with a
 * matching uid, and a uid precondition on the delete.
 */
import type { DynamicObject } from "@kcp-ts/sdk";
import type { ObservedResponse } from "./faulty-server.ts";
import { isAssigned, originOf } from "./object-queries.ts";

/** What the control plane said last about an object. */
type LastAnswer = { readonly isGone: true } | { readonly object: DynamicObject };

export class DeletionInvariant {
  readonly #words = new Map<string, LastAnswer>();

  /** For `onAnswer` of the control plane's side. */
  recordAnswer({ who, method, target, status, body }: ObservedResponse): void {
    const match = objectPath.exec(decodeURIComponent(target));
    if (match === null) return;
    const [, cluster = "", plural = "", name = "", subresource] = match;
    const id = idOf(who, plural, cluster, name);
    this.#words.delete(id);
    if (method !== "GET" || subresource !== undefined) return;
    if (status === 200) this.#words.set(id, { object: body as DynamicObject });
    // A 404 that names no object is about the path or the kind.
    const { details } = body as { readonly details?: { readonly name?: string } };
    if (status === 404 && details?.name === name) this.#words.set(id, { isGone: true });
  }

  /** Undefined when the delete is lawful, which uses the word up; otherwise what is wrong. */
  violationOf(who: string, plural: string, copy: DynamicObject): string | undefined {
    const { cluster = "", name = "", uid } = originOf(copy);
    const id = idOf(who, plural, cluster, name);
    const word = this.#words.get(id);
    this.#words.delete(id);
    if (word === undefined) return `${id} is deleted, and nobody was asked about it`;
    if ("isGone" in word) return undefined;
    if (word.object.metadata.uid !== uid || !isAssigned(word.object, who)) return undefined;
    return `${id} is deleted, whose original is alive and assigned`;
  }
}

const objectPath =
  /^\/clusters\/([^/]+)\/api[^?]*\/namespaces\/[^/]+\/(widgets|configmaps|deployments)\/([^/?]+)(?:\/(status))?/;

function idOf(who: string, plural: string, cluster: string, name: string): string {
  return `${who}: ${plural} ${cluster}/${name}`;
}
