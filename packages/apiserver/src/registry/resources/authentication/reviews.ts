/** SelfSubjectReview and TokenReview: answered, and never stored. */
import { selfSubjectReview, tokenReview } from "@kcp-ts/machinery/shape";
import { review } from "../review.ts";

const group = "authentication.k8s.io";
const validate = () => [];

export const selfSubjectReviews = review({
  group,
  kind: "SelfSubjectReview",
  shape: selfSubjectReview,
  isNamespaced: false,
  validate,
});

export const tokenReviews = review({
  group,
  kind: "TokenReview",
  shape: tokenReview,
  isNamespaced: false,
  validate,
});
