/** What becomes of copies when the cluster they are from cannot be seen, or is none of ours any more. */
export { type LostCopies, type LostCopiesOptions, lostCopies } from "./lost-copies.ts";
