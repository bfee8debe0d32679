/**
 * The state machine of a claim in one cluster: states × events, complete by type. An event is an
 * observed condition, not a change since the last observation.
 *
 * | state     | means                                                                          |
 * |-----------|--------------------------------------------------------------------------------|
 * | absent    | no workload needs the claim in this cluster                                    |
 * | pending   | needed; the cluster that is to have the data has no volume yet                 |
 * | refused   | needed; the volume cannot be moved here, and no workload was stopped for it    |
 * | fencing   | permitted; the workloads that use the volume elsewhere are being stopped       |
 * | detaching | these workloads have stopped; the volume is still attached                     |
 * | copying   | a copy was requested, from a hook or from snapshots                            |
 * | binding   | the volume may be used here, and is being bound                                |
 * | bound     | the claim is usable here                                                       |
 * | releasing | the claim was bound here, and is not needed here any more                      |
 * | frozen    | the cluster that has the data is not observed: its users are unknown           |
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
 * | event     | is observed when                                                               |
 * |-----------|--------------------------------------------------------------------------------|
 * | unwanted  | no workload needs the claim here, and it is not here                           |
 * | unneeded  | no workload is here any more, and the data is bound in another cluster         |
 * | undecided | needed here; there is no volume yet in the cluster that is to have the data    |
 * | refusal   | needed here, and the move is not permitted or not possible                     |
 * | running   | the move waits for workloads that use the volume in another cluster            |
 * | attached  | no workload uses the volume in the other cluster, and it is attached there     |
 * | outdated  | a volume other than the expected one is here, and is removed first             |
 * | uncopied  | there is no copy yet                                                           |
 * | free      | the claim may be bound here                                                    |
 * | bound     | the cluster reports the claim as bound                                         |
 * | lost      | the cluster that has the data is not observed                                  |
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

/** Before the first action, every state may follow. */
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
  // The data is here from now on: the state of the source cluster does not matter.
  binding: {
    ...fresh,
    undecided: "binding",
    refusal: "binding",
    running: "binding",
    attached: "binding",
    uncopied: "binding",
  },
  // A usable claim is only released when no workload needs it.
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
