/**
 * The life of a claim in one cluster: states × events, complete by type. An event is what is found when one looks, not what has happened since.
 *
 * | state     | means                                                                          |
 * |-----------|--------------------------------------------------------------------------------|
 * | absent    | nobody wants it here                                                           |
 * | pending   | wanted; the cluster that is to have the data has no volume yet                 |
 * | refused   | wanted; the volume cannot come here, and nothing was stopped for it            |
 * | fencing   | allowed; what uses the volume where it is, is being stopped                    |
 * | detaching | all of that has stopped; the volume is still attached                          |
 * | copying   | a copy has been asked for, of a hook or of snapshots                           |
 * | binding   | the volume may be here, and is being bound                                     |
 * | bound     | it can be used here                                                            |
 * | releasing | it was here, and is not needed here any more                                   |
 * | frozen    | the cluster that has the data cannot be seen: nobody knows who uses it         |
 */
export const claimStates = [
  "absent",
  "pending",
  "refused",
  "fencing",
  "detaching",
  "copying",
  "binding",
  "bound",
  "releasing",
  "frozen",
] as const;
export type ClaimState = (typeof claimStates)[number];

/**
 * | event     | is found when                                                                  |
 * |-----------|--------------------------------------------------------------------------------|
 * | unwanted  | no workload wants it here, and nothing of it is here                           |
 * | unneeded  | no workload is here any more, and the data is elsewhere, bound                 |
 * | undecided | wanted here; there is no volume yet where the data is to be                    |
 * | refusal   | wanted here, and it may not or cannot come                                     |
 * | running   | it may come when nobody uses it elsewhere, and somebody does                   |
 * | attached  | nobody uses it elsewhere, and it is attached there                             |
 * | outdated  | another volume than the one that is to come is here, and goes first            |
 * | uncopied  | there is no copy yet                                                           |
 * | free      | it may be bound here                                                           |
 * | bound     | the cluster says that it is bound                                              |
 * | lost      | the cluster that has the data cannot be seen                                   |
 */
export const claimEvents = [
  "unwanted",
  "unneeded",
  "undecided",
  "refusal",
  "outdated",
  "running",
  "attached",
  "uncopied",
  "free",
  "bound",
  "lost",
] as const;
export type ClaimEvent = (typeof claimEvents)[number];

/** From where nothing has been done yet, everything may follow. */
const fresh: Readonly<Record<ClaimEvent, ClaimState>> = {
  unwanted: "absent",
  unneeded: "releasing",
  undecided: "pending",
  refusal: "refused",
  outdated: "releasing",
  running: "fencing",
  attached: "detaching",
  uncopied: "copying",
  free: "binding",
  bound: "bound",
  lost: "frozen",
};

const machine: Readonly<Record<ClaimState, Readonly<Record<ClaimEvent, ClaimState>>>> = {
  absent: fresh,
  pending: fresh,
  refused: fresh,
  fencing: fresh,
  detaching: fresh,
  copying: fresh,
  releasing: fresh,
  frozen: fresh,
  // The data is here from now on: what is asked of the place it came from does not matter.
  binding: {
    ...fresh,
    undecided: "binding",
    refusal: "binding",
    running: "binding",
    attached: "binding",
    uncopied: "binding",
  },
  // What can be used is not taken away by a question; only when nobody needs it.
  bound: {
    ...fresh,
    undecided: "bound",
    refusal: "bound",
    running: "bound",
    attached: "bound",
    uncopied: "bound",
    free: "bound",
    lost: "bound",
  },
};

export function nextClaimState(state: ClaimState, event: ClaimEvent): ClaimState {
  return machine[state][event];
}
