//#import and/whole_list
//#import and/halves

// A search by halves over the whole list.
