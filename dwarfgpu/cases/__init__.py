"""Cases: questions to the evaluator as JSON objects, and their answers."""
