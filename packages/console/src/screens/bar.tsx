/** How much of something is there: a fill, within the outline of what is wanted. */
interface BarProps {
  readonly value: number;
  readonly wanted: number;
  /** As wide as the bar: the same for all bars that are compared. */
  readonly most: number;
  readonly label: string;
}

export function Bar({ value, wanted, most, label }: BarProps) {
  const width = (count: number) => ({ width: `${(100 * count) / Math.max(1, most)}%` });
  return (
    <span class="bar-track" role="img" aria-label={label}>
      {wanted > 0 ? <span class="wanted" style={width(wanted)} /> : null}
      {value > 0 ? (
        <span class={value < wanted ? "there partly" : "there"} style={width(value)} />
      ) : null}
    </span>
  );
}
