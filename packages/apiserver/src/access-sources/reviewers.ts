/**
 * The reviewers of each review kind: handlers decode the review, and authentication and
 * authorization answer it.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { reviewSelf, reviewToken } from "../authentication/index.ts";
import {
  type Authorizer,
  type RbacAuthorizer,
  reviewSelfAccess,
  reviewSelfRules,
  reviewSubjectAccess,
} from "../authorization/index.ts";
import type { Reviewer, Reviewers } from "../handlers/index.ts";
import { timestamp } from "../registry/index.ts";
import type { ClusterAuthenticator } from "./cluster-authenticator.ts";

export interface ReviewDependencies {
  readonly authenticator: Pick<ClusterAuthenticator, "reviewTokenIn">;
  readonly authorizer: Authorizer;
  /**
   * The authorizer without the check for access to the cluster, and without the restrictions of
   * providers.
   */
  readonly unlimited: Authorizer;
  readonly rbac: RbacAuthorizer;
  readonly clock: Pick<Clock, "now">;
}

export function composeReviewers(dependencies: ReviewDependencies): Reviewers {
  const { authenticator, authorizer, unlimited, rbac, clock } = dependencies;
  const subjectAccess: Reviewer = (review) =>
    reviewSubjectAccess(review.isDeep ? unlimited : authorizer, review);
  return new Map<string, Reviewer>([
    [
      "authentication.k8s.io/selfsubjectreviews",
      async ({ user }) => reviewSelf(user, timestamp(clock.now())),
    ],
    [
      "authentication.k8s.io/tokenreviews",
      ({ object, cluster }) =>
        reviewToken(
          {
            reviewToken: (token, audiences) =>
              authenticator.reviewTokenIn(token, audiences, cluster),
          },
          object,
        ),
    ],
    ["authorization.k8s.io/subjectaccessreviews", subjectAccess],
    ["authorization.k8s.io/localsubjectaccessreviews", subjectAccess],
    [
      "authorization.k8s.io/selfsubjectaccessreviews",
      (review) => reviewSelfAccess(authorizer, review),
    ],
    ["authorization.k8s.io/selfsubjectrulesreviews", (review) => reviewSelfRules(rbac, review)],
  ]);
}
