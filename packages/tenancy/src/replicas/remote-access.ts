/**
 * Asks the shard that has a logical cluster whether a user has a permission there, by a
 * SubjectAccessReview. Answers are kept for some seconds, so that a revoked permission ends soon;
 * while the shard does not answer, the last answer counts for an hour. What everybody may do with
 * an object is kept with its replica, so that it is known after a restart, too.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { isSystemMaster, type UserInfo, wellKnownGroup } from "@kcp-ts/apiserver/request/user";
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import type { Replicas } from "./replicas.ts";

export interface AccessQuestion {
  readonly user: UserInfo;
  readonly cluster: ClusterName;
  readonly definition: Pick<ResourceDefinition, "group" | "version" | "resource">;
  readonly name: string;
  readonly verb: string;
  readonly subresource?: string;
  /** Whether the user needs access to the content of the logical cluster, too. */
  readonly isWithinContent: boolean;
}

interface Answer {
  readonly allowed: boolean;
  readonly at: number;
}

/** How long an answer counts without asking again. */
export const freshMs = 5_000;
/** How long it counts while the shard does not answer. */
export const staleMs = 60 * 60_000;
/** Some 300 bytes each. */
export const decisionsMax = 20_000;
/** How long it is known what everybody may do. */
const everybodyMs = 10 * 60_000;
const everybody: UserInfo = { username: "", groups: [wellKnownGroup.authenticated] };
const deepHeader = "x-kcp-internal-deep-subjectaccessreview";
const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

export class RemoteAccess {
  readonly #replicas: Replicas;
  readonly #clock: Clock;
  /** In order of their time, oldest first. */
  readonly #answers = new Map<string, Answer>();

  constructor(replicas: Replicas, clock: Clock) {
    this.#replicas = replicas;
    this.#clock = clock;
  }

  isElsewhere(cluster: ClusterName): boolean {
    return this.#replicas.shardOf(cluster) !== undefined;
  }

  async ask(question: AccessQuestion): Promise<boolean> {
    if (isSystemMaster(question.user)) return true;
    const key = keyOf(question);
    const known = this.#answers.get(key);
    const age = known === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() - known.at;
    if (known !== undefined && age < freshMs) return known.allowed;
    try {
      const allowed = await this.#review(question);
      this.#keep(key, allowed);
      if (allowed) await this.#noteEverybody(question);
      return allowed;
    } catch (error) {
      if (!isStatusError(error, "ServiceUnavailable")) throw error;
      if (known !== undefined && age < staleMs) return known.allowed;
      if (await this.#isForEverybody(question)) return true;
      const shard = this.#replicas.shardOf(question.cluster);
      throw statusError.unavailable(
        `shard ${shard}, which has logical cluster ${question.cluster}, does not answer, and knows who has the permission ${question.verb} on ${question.definition.resource} there: try again later`,
      );
    }
  }

  #keep(key: string, allowed: boolean): void {
    this.#answers.delete(key);
    this.#answers.set(key, { allowed, at: this.#clock.monotonic() });
    if (this.#answers.size <= decisionsMax) return;
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined) this.#answers.delete(oldest);
  }

  /** Asks, from time to time, whether all users with credentials have the permission, too. */
  async #noteEverybody(question: AccessQuestion): Promise<void> {
    if (question.isWithinContent) return;
    const asked = { ...question, user: everybody };
    const key = keyOf(asked);
    const known = this.#answers.get(key);
    if (known !== undefined && this.#clock.monotonic() - known.at < everybodyMs) return;
    const allowed = await this.#review(asked);
    this.#keep(key, allowed);
    const { definition, cluster, name, verb } = question;
    await this.#replicas.noteEverybody(definition, cluster, name, { verb, allowed });
  }

  async #isForEverybody(question: AccessQuestion): Promise<boolean> {
    const { user, definition, cluster, name, verb, isWithinContent } = question;
    if (isWithinContent || !user.groups.includes(wellKnownGroup.authenticated)) return false;
    return (await this.#replicas.everybodyMay(definition, cluster, name)).includes(verb);
  }

  async #review(question: AccessQuestion): Promise<boolean> {
    const { user, cluster, definition, name, verb, subresource = "", isWithinContent } = question;
    const { group, version, resource } = definition;
    const answer = await this.#replicas.reader.send(cluster, {
      method: "POST",
      target: `/clusters/${cluster}${path}`,
      headers: isWithinContent ? {} : { [deepHeader]: "true" },
      object: {
        kind: "SubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        spec: {
          ...subjectOf(user),
          resourceAttributes: { group, version, resource, subresource, name, verb },
        },
      },
    });
    const { status } = answer;
    return isJsonObject(status) && status["allowed"] === true;
  }
}

function subjectOf({ username, uid, groups, extra }: UserInfo): JsonObject {
  return {
    ...(username === "" ? {} : { user: username }),
    groups: [...groups],
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra: extra as unknown as JsonObject }),
  };
}

function keyOf({ user, definition, isWithinContent, ...rest }: AccessQuestion): string {
  const { group, resource } = definition;
  return stringifyJson([
    subjectOf(user),
    rest.cluster,
    group,
    resource,
    rest.subresource ?? "",
    rest.name,
    rest.verb,
    isWithinContent,
  ]);
}
