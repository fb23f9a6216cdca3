// Rows of a transcript by time, times in words, and steps of speed.

export const SPEEDS = [0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3];

/** Returns the index of the row that is spoken at a time, or of the last one before it; -1 before the first. */
export function rowAt(starts, seconds) {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= seconds) low = middle + 1; else high = middle;
  }
  return low - 1;
}

/** Returns a time as `1:02:03` or `2:03`. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Returns the next speed in a direction. */
export const nextSpeed = (speed, direction) =>
  (direction > 0 ? SPEEDS.find((one) => one > speed + 0.01) : SPEEDS.findLast((one) => one < speed - 0.01)) ?? speed;
