/** Calls all listeners; one that throws does not stop the others. */
export class Signal<T> {
  private readonly _listeners = new Set<(value: T) => void>();

  /** Listens until the returned function is called. */
  connect(listener: (value: T) => void): () => void {
    const own = (value: T) => listener(value);
    this._listeners.add(own);
    return () => void this._listeners.delete(own);
  }

  emit(value: T): void {
    for (const listener of [...this._listeners]) {
      try {
        listener(value);
      } catch (failure) {
        console.error(failure);
      }
    }
  }

  clear(): void {
    this._listeners.clear();
  }
}
