/**
 * The `authorizer` of expressions. Evaluation is synchronous and a decision is asynchronous: a
 * check without a decision fails for now, and the expression is evaluated again when the decision
 * is available.
 */
import { type Resumable, runSyncFirst } from "@kcp-ts/machinery/base";
import {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  type Authorizer,
  CelAuthorizer,
  CelResourceCheck,
} from "@kcp-ts/machinery/cel";
import type { Attributes } from "../../request/attributes.ts";
import type { UserInfo } from "../../request/user.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionSources } from "../sources.ts";

/** The number of cached checks of one request; further checks are not made. */
const checksMax = 1000;

export class AuthorizerDecisions {
  readonly #request: AdmissionRequest;
  readonly #sources: Pick<AdmissionSources, "authorize">;
  readonly #decided = new Map<string, AuthorizationDecision>();
  readonly #pending = new Set<Promise<void>>();
  /** The number of pending checks, over all evaluations: several may be in flight. */
  #unanswered = 0;

  constructor(request: AdmissionRequest, sources: Pick<AdmissionSources, "authorize">) {
    this.#request = request;
    this.#sources = sources;
  }

  get authorizer(): CelAuthorizer {
    return new CelAuthorizer(this.#authorizerOf(this.#request.user));
  }

  get requestResource(): CelResourceCheck {
    const { group, resource, subresource, namespace, name, user } = this.#request;
    const attributes = { group, resource, subresource, namespace, name };
    return new CelResourceCheck(this.#authorizerOf(user), {
      ...attributes,
      fieldSelector: "",
      labelSelector: "",
    });
  }

  /** Resolves to the result of the body when all its checks are decided. */
  async awaitPending<Result>(body: () => Resumable<Result>): Promise<Result> {
    for (;;) {
      const before = this.#unanswered;
      const result = await runSyncFirst(body());
      if (this.#unanswered === before) return result;
      await Promise.all(this.#pending);
    }
  }

  #authorizerOf(user: UserInfo): Authorizer {
    return {
      authorize: (attributes) => this.#decide(user, attributes),
      forServiceAccount: (namespace, name) =>
        this.#authorizerOf({
          username: `system:serviceaccount:${namespace}:${name}`,
          groups: [
            "system:serviceaccounts",
            `system:serviceaccounts:${namespace}`,
            "system:authenticated",
          ],
        }),
    };
  }

  #decide(user: UserInfo, asked: AuthorizationAttributes): AuthorizationDecision {
    const key = JSON.stringify([user.username, asked]);
    const known = this.#decided.get(key);
    if (known !== undefined) return known;
    if (this.#decided.size >= checksMax) return refusal("too many checks in one request");
    this.#unanswered++;
    const pending = this.#sources
      .authorize(this.#attributes(user, asked))
      .catch((error: unknown) => refusal(error instanceof Error ? error.message : String(error)))
      .then((decision) => {
        this.#decided.set(key, decision);
        this.#pending.delete(pending);
      });
    this.#pending.add(pending);
    return refusal("the check is not answered yet");
  }

  #attributes(user: UserInfo, asked: AuthorizationAttributes): Attributes {
    const { cluster } = this.#request;
    const { verb } = asked;
    if (asked.kind === "path") {
      const nothing = { group: "", version: "", resource: "", subresource: "" };
      const { path } = asked;
      return {
        user,
        verb,
        cluster,
        path,
        ...nothing,
        namespace: "",
        name: "",
        isResourceRequest: false,
      };
    }
    const { group, resource, subresource, namespace, name } = asked;
    const names = { group, version: "*", resource, subresource, namespace, name };
    return { user, verb, cluster, path: "", ...names, isResourceRequest: true };
  }
}

function refusal(error: string): AuthorizationDecision {
  return { allowed: false, reason: "", error };
}
