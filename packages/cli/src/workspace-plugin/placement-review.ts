/**
 * Placement reviews, which the server computes: it knows the clusters of other workspaces, and
 * their tenants.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type PlacementReviewSpec,
  type PlacementReviewStatus,
  placementReviews,
} from "@kcp-ts/multicluster";
import type { Session } from "./session.ts";

export async function createPlacementReview(
  session: Session,
  spec: PlacementReviewSpec,
): Promise<PlacementReviewStatus> {
  const client = session.clientIn(session.address.workspace);
  try {
    const { status } = await client
      .resource(placementReviews)
      .create({ metadata: {} as { name: string }, spec });
    return status ?? {};
  } catch (error) {
    // A message for users, without the details for programs.
    if (isStatusError(error, "BadRequest")) throw new Error((error as Error).message);
    throw error;
  }
}
